package savedmodel

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

// Ops that choose a class give indices and names: there is no tolerance.
func TestTensorFlowChoosesAsGoDoes(t *testing.T) {
	t.Parallel()
	b := nn.NewBuilder(nn.NewRand(1))
	x, id := b.Input("x", nn.Float32, 4), b.Input("ids", nn.Int64, 2)
	class := b.ArgMax("class", x)
	b.Output("bucket", b.Bucket("bucket", x, []float32{-2, 0, 0.5, 20}))
	b.Output("within", b.Within("within", id, 3, 1))
	b.Output("class", class)
	b.Output("label", b.Label("label", class, []string{"low", "", "\xff no UTF-8", "high"}))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	m := Model{Graph: g, Spec: example.Spec{{Name: "ids", Kind: example.Int64, Shape: []int{2}}, {Name: "x", Kind: example.Float, Shape: []int{4}}}}
	inputs := map[string]nn.Value{"x": nn.Floats(4, numbers...), "ids": nn.Ints(2)}
	for r := range opRows {
		id := inputs["ids"]
		id.Ints = append(id.Ints, int64(r)-2, math.MaxInt64>>r)
		inputs["ids"] = id
	}
	values, err := nn.Eval(g, inputs)
	if err != nil {
		t.Fatal(err)
	}
	type choices struct {
		Bucket, Within, Class []int64
		Label                 [][]byte
	}
	want := choices{values["bucket"].Ints, values["within"].Ints, values["class"].Ints, values["label"].Strings}
	var got choices
	tftest.Run(t, predictScript+`
def check(input):
    loaded = tf.saved_model.load(input["model"]).signatures["predict_tensors"]
    return {k: flat(v) for k, v in loaded(**{k: tensor(*v) for k, v in input["tensors"].items()}).items()}
`, map[string]any{"model": writeTemp(t, m), "tensors": asTensors(inputs)}, &got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Go - TensorFlow +\n%s", diff)
	}
}
