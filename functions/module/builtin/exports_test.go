package builtin_test

import (
	_ "embed"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/export"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/module"
)

//go:embed testdata/exports.py
var exportsScript string

// exported asks the runtime of each file, fed as inputs.json says, for its predictions on the rows
// for which TensorFlow serves the model.
type exported struct {
	Model string   `json:"model"` // the artifact's folder
	Files []string `json:"files"` // below it
	Rows  string   `json:"rows"`  // pattern of the input rows of the files
	Raw   string   `json:"raw"`   // pattern of the same rows as requests
	Label string   `json:"label"` // which requests lack
}

// likeness is how far a file's predictions are from those served: the largest and the mean
// difference, absolute up to 1 and relative above, and the share of rows with the same class.
type likeness struct {
	Rows                 int
	Largest, Mean, Agree float64
}

// closeness is the bound for each format on every eval row. All but int8 compute in float32, in
// another order than TensorFlow. float16 has 11 bits, so weights have a relative error of 1/2048.
// int8 has 256 steps from the smallest to the largest number of the sample rows, and clips numbers
// beyond: a fare outside of that range may be far off.
var closeness = map[string]likeness{
	"onnx":           {Largest: 1e-5, Mean: 1e-6, Agree: 0.999},
	"tflite":         {Largest: 1e-5, Mean: 1e-6, Agree: 0.999},
	"tflite-float16": {Largest: 0.02, Mean: 0.002, Agree: 0.99},
	"tflite-int8":    {Largest: math.Inf(1), Mean: 0.05, Agree: 0.95},
}

func TestEveryFormatAnswersAsTensorFlowServes(t *testing.T) {
	t.Parallel()
	words, every, wide := words(t), everything(t), everything(t)
	wide.Module.Path = "builtin:wide_deep"
	few := map[string]any{
		"label": "tips", "features": []any{"company", "fare", "trip_start_hour", "payment_type"},
		"crosses": []any{[]any{"company", "trip_start_hour"}}, "batch_normalization": true, "class_weights": "balanced",
	}
	ranged := assignment(t, "taxi", false, map[string]any{"label": "tips", "normalize": "minmax"})
	for name, c := range map[string]struct {
		a    module.Assignment
		raw  string
		want string
	}{
		"penguin transformed": {assignment(t, "penguin", true, map[string]any{"label": "species"}), abs(t, examples, "penguin/examples/Split-eval/*"), "species"},
		"penguin raw":         {assignment(t, "penguin", false, map[string]any{"label": "species"}), abs(t, examples, "penguin/examples/Split-eval/*"), "species"},
		"taxi transformed":    {assignment(t, "taxi", true, map[string]any{"label": "tips"}), abs(t, examples, "taxi/examples/Split-eval/*"), "tips"},
		"taxi raw":            {assignment(t, "taxi", false, map[string]any{"label": "tips"}), abs(t, examples, "taxi/examples/Split-eval/*"), "tips"},
		"taxi minmax":         {ranged, abs(t, examples, "taxi/examples/Split-eval/*"), "tips"},
		"words":               {words, words.EvalFiles[0], "y"},
		"everything":          {every, every.EvalFiles[0], "y"},
		"everything wide":     {wide, wide.EvalFiles[0], "y"},
		"some of taxi":        {assignment(t, "taxi", true, few), abs(t, examples, "taxi/examples/Split-eval/*"), "tips"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.a.ServingModelDir = filepath.Join(t.TempDir(), "Format-Serving")
			checkExports(t, c.a, exported{Rows: c.a.EvalFiles[0], Raw: c.raw, Label: c.want})
		})
	}
}

// checkExports trains, exports in every format there is, and compares.
func checkExports(t *testing.T, a module.Assignment, e exported) {
	t.Helper()
	e.Model = filepath.Dir(a.ServingModelDir)
	names := map[string]string{}
	for _, f := range export.Formats() {
		a.Exports = append(a.Exports, f.Name)
		e.Files = append(e.Files, f.Folder+"/"+f.File)
		names[f.Folder+"/"+f.File] = f.Name
	}
	run(t, strings.TrimPrefix(a.Module.Path, module.BuiltinPrefix), a)
	if err := export.Check(e.Model, a.Exports); err != nil {
		t.Fatal(err)
	}
	var got map[string]likeness
	tftest.RunLive(t, exportsScript, e, &got)
	for file, l := range got {
		want := closeness[names[file]]
		t.Logf("%s: %+v", file, l)
		if l.Rows < 100 || l.Largest > want.Largest || l.Mean > want.Mean || l.Agree < want.Agree {
			t.Errorf("%s: %+v, want %+v", file, l, want)
		}
	}
	if len(got) != len(e.Files) {
		t.Errorf("%d of %d files ran", len(got), len(e.Files))
	}
}
