package onnx_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/export/onnx"
	"github.com/stoker-ml/stoker/compute/nn"
)

func written(t testing.TB, g *nn.Graph) (path string, text []byte) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "model.onnx")
	if err := onnx.Write(path, g, nil); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, text
}

func TestAFileSaysWhatItIs(t *testing.T) {
	t.Parallel()
	b := nn.NewBuilder(nn.NewRand(1))
	x := b.Concat("x", b.Input("size", nn.Float32, 3), b.OneHot("town/one_hot", b.Vocabulary("town/id", b.Input("town", nn.String, 1), towns), 5))
	b.Output("logits", b.Dense("out", b.Dense("one", x, 4, nn.OpRelu), 2, ""))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	path, _ := written(t, g)
	got, err := onnx.Describe(path)
	if err != nil {
		t.Fatal(err)
	}
	want := onnx.Description{
		IRVersion: 10, Producer: "stoker", Opsets: map[string]int64{"": 21, "ai.onnx.ml": 4},
		Inputs: []onnx.ValueInfo{
			{Name: "size", Type: "float", Shape: []string{"batch", "3"}}, {Name: "town", Type: "string", Shape: []string{"batch", "1"}},
		},
		Outputs: []onnx.ValueInfo{{Name: "logits", Type: "float", Shape: []string{"batch", "2"}}},
		Ops: map[string]int{
			"MatMul": 2, "Add": 2, "Relu": 1, "Concat": 1, "ai.onnx.ml.LabelEncoder": 1, "Unsqueeze": 1, "Equal": 1, "Cast": 1, "Reshape": 1,
		},
		// Two kernels, two biases; of the one-hot: classes, axes, shape.
		Initializers: 7,
		WeightBytes:  4*(8*4+4+4*2+2) + 8*5 + 8 + 8*2, // float32, and int64
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
}

func TestWhatIsNoModelIsRefused(t *testing.T) {
	t.Parallel()
	_, whole := written(t, &nn.Graph{Inputs: []nn.Input{{Name: "x", Width: 1}}, Outputs: []nn.Output{{Name: "y", Node: "x", Width: 1}}})
	for name, text := range map[string][]byte{
		"nothing": {}, "text": []byte("no model at all"), "one cut off": whole[:len(whole)-3],
		"a length without bytes": {0x3a, 0xff, 0xff, 0xff, 0xff, 0x7f}, "an endless varint": bytes.Repeat([]byte{0xff}, 20),
		"one without a graph": {0x08, 0x0a, 0x42, 0x02, 0x10, 0x15},
	} {
		path := filepath.Join(t.TempDir(), "model.onnx")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if d, err := onnx.Describe(path); err == nil {
			t.Errorf("%s is taken for %+v", name, d)
		}
	}
}

func TestAFieldStaysWithinItsMessage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "model.onnx")
	graph := []byte{0x3a, 2, 0x5a, 5, 0, 0, 0, 0, 0} // a graph of two bytes, with an input of five
	if err := os.WriteFile(path, graph, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := onnx.Describe(path)
	if want := "is no ONNX model: field 11 has 5 bytes where 0 are left"; err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
}
