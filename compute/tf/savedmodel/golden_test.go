package savedmodel

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/tensorbundle"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

// golden is one call of the model that TFX trained on the penguins.
type golden struct {
	Tag     string
	Example []byte `json:"example_b64"`
	Serving struct {
		Outputs [][]tftest.Number
	} `json:"serving_default"`
	Features map[string][][]tftest.Number `json:"transform_features"`
}

func readGolden(t *testing.T) []golden {
	t.Helper()
	file, err := os.Open(filepath.Join("..", "..", "data", "example", "testdata", "penguin", "golden.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var list []golden
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var g golden
		if err := json.Unmarshal(lines.Bytes(), &g); err != nil {
			t.Fatal(err)
		}
		list = append(list, g)
	}
	return list
}

// penguin returns TFX's model rebuilt: its weights, read from its bundle, in a net of ours.
func penguin(t *testing.T) Model {
	t.Helper()
	weights, err := tensorbundle.Open(filepath.Join("testdata", "penguin", "model", "variables", "variables"))
	if err != nil {
		t.Fatal(err)
	}
	g := &nn.Graph{Outputs: []nn.Output{{Name: "outputs", Node: "dense_1", Width: 3}}}
	join := nn.Node{Name: "joined", Op: nn.OpConcat}
	for _, name := range []string{"culmen_length_mm_xf", "culmen_depth_mm_xf", "flipper_length_mm_xf", "body_mass_g_xf"} {
		g.Inputs = append(g.Inputs, nn.Input{Name: name, Kind: nn.Float32, Width: 1})
		join.In = append(join.In, name)
	}
	g.Nodes = []nn.Node{
		join,
		{Name: "product", Op: nn.OpMatMul, In: []string{"joined", "dense/kernel"}},
		{Name: "dense", Op: nn.OpAddBias, In: []string{"product", "dense/bias"}},
		{Name: "relu", Op: nn.OpRelu, In: []string{"dense"}},
		{Name: "product_1", Op: nn.OpMatMul, In: []string{"relu", "dense_1/kernel"}},
		{Name: "dense_1", Op: nn.OpAddBias, In: []string{"product_1", "dense_1/bias"}},
	}
	for i, p := range []nn.Param{
		{Name: "dense/kernel", Shape: []int{4, 8}}, {Name: "dense/bias", Shape: []int{8}},
		{Name: "dense_1/kernel", Shape: []int{8, 3}}, {Name: "dense_1/bias", Shape: []int{3}},
	} {
		key := fmt.Sprintf("_operations/%d/%s%s", 5+i/2, []string{"_kernel", "bias"}[i%2], valueSuffix)
		if p.Values, _, err = weights.Numbers(key); err != nil {
			t.Fatal(err)
		}
		p.Trainable = true
		g.Params = append(g.Params, p)
	}
	return Model{Graph: g, TransformGraph: filepath.Join("testdata", "penguin", "transform_graph")}
}

func TestModelOfTFXWrittenAgainAnswersAsBefore(t *testing.T) {
	t.Parallel()
	var examples [][]byte
	served, features := outputs{}, outputs{}
	for _, g := range readGolden(t) {
		examples = append(examples, g.Example)
		served["outputs"] = append(served["outputs"], g.Serving.Outputs[0]...)
		for name, v := range g.Features {
			features[name] = append(features[name], v[0]...)
		}
	}
	got := serveGrafted(t, writeTemp(t, penguin(t)), examples)
	near(t, "serving_default", got.Served, served)
	near(t, "transform_features", got.Features, features)
	near(t, "session", got.Session, served)
}
