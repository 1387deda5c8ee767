package savedmodel

import (
	_ "embed"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/tensorbundle"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

//go:embed testdata/predict.py
var predictScript string

// outputs are a signature's results, flat, by key.
type outputs map[string][]tftest.Number

// answers are what predict.py returns.
type answers struct {
	Signatures                                         []string
	Loaded, Positional, Session, Again, Layer, Tensors outputs
	Empty                                              [][]int
	Variables                                          outputs
	Trainable                                          []string
	Gradients                                          []bool
	Checkpoint                                         map[string][]int
	LayerWeights                                       []int `json:"layer_weights"`
}

func writeTemp(t *testing.T, m Model) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "model")
	if err := Write(dir, m); err != nil {
		t.Fatal(err)
	}
	return dir
}

// tolerance is relative where values are over 1: both sides compute in float32, but add up products
// in another order.
const tolerance = 1e-5

// near fails unless got is want within the tolerance, NaN counting as equal to NaN.
func near(t *testing.T, what string, got, want outputs) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d outputs, want %d", what, len(got), len(want))
	}
	for key, w := range want {
		g := got[key]
		if len(g) != len(w) {
			t.Errorf("%s: %s has %d values, want %d", what, key, len(g), len(w))
			continue
		}
		for i := range w {
			a, b := float64(g[i]), float64(w[i])
			if !(a == b || math.Abs(a-b) <= tolerance*max(1, math.Abs(b)) || math.IsNaN(a) && math.IsNaN(b)) {
				t.Errorf("%s: %s[%d] = %v, want %v", what, key, i, a, b)
				break
			}
		}
	}
}

// evaluated returns what Go computes from the graph's inputs.
func evaluated(t *testing.T, g *nn.Graph, inputs map[string]nn.Value) outputs {
	t.Helper()
	values, err := nn.Eval(g, inputs)
	if err != nil {
		t.Fatal(err)
	}
	return flat(values)
}

func flat(values map[string]nn.Value) outputs {
	list := outputs{}
	for name, v := range values {
		for _, x := range v.Floats {
			list[name] = append(list[name], tftest.Number(x))
		}
		for _, x := range v.Ints {
			list[name] = append(list[name], tftest.Number(x))
		}
	}
	return list
}

func TestTensorFlowServesEveryOpAsGoComputesIt(t *testing.T) {
	t.Parallel()
	m := tower()
	rows, inputs := towerRows(64)
	dir := writeTemp(t, m)
	var got answers
	tftest.Run(t, predictScript, map[string]any{"model": dir, "examples": serialized(t, rows), "tensors": asTensors(inputs)}, &got)
	want := evaluated(t, m.Graph, inputs)
	near(t, "tf.saved_model.load", got.Loaded, want)
	near(t, "called by position", got.Positional, want)
	near(t, "session", got.Session, want)
	near(t, "loaded, saved, loaded", got.Again, want)
	near(t, "predict_tensors", got.Tensors, want)
	near(t, "TFSMLayer", got.Layer, want)
	compareVariables(t, m, got)
}

// asTensors returns inputs as predict.py takes them: keyword, element type, width, elements.
func asTensors(inputs map[string]nn.Value) map[string]any {
	list := map[string]any{}
	for name, v := range inputs {
		var elements []any
		for _, x := range v.Floats {
			elements = append(elements, strconv.FormatFloat(float64(x), 'g', -1, 32))
		}
		for _, x := range v.Ints {
			elements = append(elements, x)
		}
		for _, x := range v.Strings {
			elements = append(elements, x)
		}
		list[Keyword(name)] = []any{v.Kind.String(), v.Width, elements}
	}
	return list
}

// compareVariables compares what TensorFlow says about the variables with the params.
func compareVariables(t *testing.T, m Model, got answers) {
	t.Helper()
	want, trainable := outputs{}, []string{}
	shapes := map[string][]int{tensorbundle.ObjectGraphKey: {}}
	for _, p := range m.Graph.Params {
		for _, v := range p.Values {
			want[p.Name+":0"] = append(want[p.Name+":0"], tftest.Number(v))
		}
		shapes[checkpointKey(p.Name)] = p.Shape
		if p.Trainable {
			trainable = append(trainable, p.Name+":0")
		}
	}
	near(t, "variables", got.Variables, want)
	if !slices.Equal(got.Trainable, trainable) {
		t.Errorf("trainable variables %v, want %v", got.Trainable, trainable)
	}
	if len(got.Gradients) != len(trainable) || slices.Contains(got.Gradients, false) {
		t.Errorf("gradients reach %v of the trainable variables", got.Gradients)
	}
	if !slices.Equal(got.LayerWeights, []int{len(m.Graph.Params), len(trainable)}) {
		t.Errorf("TFSMLayer has %v weights and trainable ones", got.LayerWeights)
	}
	if len(got.Checkpoint) != len(shapes) {
		t.Errorf("checkpoint holds %v", got.Checkpoint)
	}
	for key, shape := range shapes {
		if !slices.Equal(got.Checkpoint[key], shape) {
			t.Errorf("checkpoint: %s has shape %v, want %v", key, got.Checkpoint[key], shape)
		}
	}
	for _, shape := range got.Empty {
		if shape[0] != 0 {
			t.Errorf("an empty batch gives shape %v", shape)
		}
	}
	if want := []string{"predict_tensors", "serving_default"}; !slices.Equal(got.Signatures, want) && m.TransformGraph == "" {
		t.Errorf("signatures %v, want %v", got.Signatures, want)
	}
}
