package savedmodel

import (
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

// keywordScript calls a signature by keywords as in a program: a name that is reserved in Python is
// a syntax error, or an existing argument.
const keywordScript = `
def check(input):
    signature = tf.saved_model.load(input["model"]).signatures["predict_tensors"]
    call = "signature(" + ", ".join(f"{name}=tf.constant([[{x}.0]])" for name, x in input["values"].items()) + ")"
    return [float(x) for x in eval(call)["all"][0]]
`

// TensorFlow must give each column what was called by its name.
func TestFeaturesWithNamesOfPythonAreCalledByKeyword(t *testing.T) {
	t.Parallel()
	features := []string{"2nd", "None", "class", "class_", "from", "lambda", "self", "trip-miles"}
	keywords := []string{"arg_2nd", "None_", "class_", "class__1", "from_", "lambda_", "self_", "trip_miles"}
	b := nn.NewBuilder(nn.NewRand(1))
	m, columns, values, want := Model{}, []nn.Ref(nil), map[string]int{}, []float64(nil)
	for i, name := range features {
		columns = append(columns, b.Input(name, nn.Float32, 1))
		m.Spec = append(m.Spec, example.Feature{Name: name, Kind: example.Float, Shape: []int{1}})
		values[keywords[i]], want = i, append(want, float64(i))
	}
	b.Output("all", b.Concat("features", columns...))
	var err error
	if m.Graph, err = b.Graph(); err != nil {
		t.Fatal(err)
	}
	var got []float64
	tftest.Run(t, keywordScript, map[string]any{"model": writeTemp(t, m), "values": values}, &got)
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
