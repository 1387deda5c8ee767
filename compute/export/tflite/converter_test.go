package tflite_test

import (
	_ "embed"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/export/tflite"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

//go:embed testdata/convert.py
var convertScript string

// conversion asks TensorFlow for its own file of a model, and what it thinks of ours.
type conversion struct {
	Dir    string           `json:"dir"`
	Kind   string           `json:"kind"`
	Model  []byte           `json:"model"`
	Inputs map[string]array `json:"inputs"`
}

type converted struct {
	Size     int    `json:"size"`
	Outputs  answer `json:"outputs"`
	Analysis string `json:"analysis"`
}

// TensorFlow's converter makes a file of our SavedModel's plain-tensor signature that has the same
// outputs as ours and is at most 2 kB smaller. TensorFlow's analyser reads ours. Tolerances: those
// of kinds, twice where both files round; none for int8, where theirs is up to 0.3 off: it rounds
// the features before they are brought to a common range.
func TestTensorFlowsOwnFileIsTheSame(t *testing.T) {
	t.Parallel()
	in := rows(100, 2)
	for i, v := range in["size"].Floats {
		if v != v { // the converter can't calibrate with missing numbers
			in["size"].Floats[i] = 0
		}
	}
	kinds := map[string]struct {
		o         tflite.Options
		tolerance float64
	}{
		"float32": {tflite.Options{}, 1e-5},
		"float16": {tflite.Options{Quantization: tflite.Float16}, 4e-3},
		"dynamic": {tflite.Options{Quantization: tflite.DynamicInt8}, 0.04},
		"int8":    {tflite.Options{Quantization: tflite.Int8, Samples: in}, math.Inf(1)},
	}
	var requests []conversion
	var files [][]byte
	var wants []map[string]nn.Value
	for _, m := range models(t) {
		m.graph.Outputs = m.graph.Outputs[:1]
		dir := filepath.Join(t.TempDir(), "saved")
		err := savedmodel.Write(dir, savedmodel.Model{Graph: m.graph, Spec: example.Spec{
			{Name: "id", Kind: example.Int64, Shape: []int{2}}, {Name: "size", Kind: example.Float, Shape: []int{3}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		want, err := nn.Eval(m.graph, in)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range slices.Sorted(maps.Keys(kinds)) {
			kind := kinds[name]
			files = append(files, written(t, m.graph, kind.o))
			needed := map[string]nn.Value{}
			for _, i := range m.graph.Inputs {
				needed[i.Name] = in[i.Name]
			}
			requests = append(requests, conversion{Dir: dir, Kind: name, Model: files[len(files)-1], Inputs: arrays(needed)})
			wants = append(wants, want)
		}
	}
	var answers []converted
	tftest.RunLive(t, convertScript, requests, &answers)
	for i, theirs := range answers {
		kind := requests[i].Kind
		t.Run(kind, func(t *testing.T) {
			checkOutput(t, "TensorFlow's file", theirs.Outputs["logits"], wants[i]["logits"], kinds[kind].tolerance)
			t.Logf("%d bytes, TensorFlow's %d", len(files[i]), theirs.Size)
			if len(files[i]) > theirs.Size+2048 {
				t.Errorf("%d bytes, TensorFlow's %d", len(files[i]), theirs.Size)
			}
			if !strings.Contains(theirs.Analysis, "FULLY_CONNECTED") || !strings.Contains(theirs.Analysis, "serving_default") {
				t.Errorf("analysis: %s", theirs.Analysis)
			}
		})
	}
}
