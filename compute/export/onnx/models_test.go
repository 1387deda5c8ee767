package onnx_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/export/onnx"
	"github.com/stoker-ml/stoker/compute/export/partition"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

// rows are how many each model is run on, 40 of them with a missing number.
const rows = 333

var towns = []string{"Rome", "Köln", "San José", "東京"}

// columns returns random features of every kind, unknown words, ids out of range and missing
// numbers among them.
func columns() map[string]nn.Value {
	rng := rand.New(rand.NewPCG(5, 5))
	size, id, town := nn.Floats(3), nn.Ints(2), nn.Strings(1)
	for range rows {
		size.Floats = append(size.Floats, float32(rng.NormFloat64()*3), rng.Float32(), 100*rng.Float32())
		id.Ints = append(id.Ints, int64(rng.IntN(30))-5, int64(rng.IntN(9)))
		town.Strings = append(town.Strings, []byte(append(towns, "Oslo", "")[rng.IntN(6)]))
	}
	for i := range 40 {
		size.Floats[i*7] = nan
	}
	return map[string]nn.Value{"size": size, "id": id, "town": town}
}

// built returns the graph of some layers over those features.
func built(t *testing.T, layers func(b *nn.Builder, size, id, town nn.Ref)) *nn.Graph {
	t.Helper()
	b := nn.NewBuilder(nn.NewRand(3))
	size := b.Normalize("size/normal", b.Input("size", nn.Float32, 3), []float32{0, 0.5, 50}, []float32{0.3, 2, 0.03})
	layers(b, b.DropNaN("size/there", size), b.Clamp("id/known", b.Input("id", nn.Int64, 2), 20),
		b.Vocabulary("town/id", b.Input("town", nn.String, 1), towns))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func modelCases(t *testing.T) []modelCase {
	t.Helper()
	answers := func(b *nn.Builder, logits nn.Ref) {
		b.Output("logits", logits)
		b.Output("probabilities", b.Activation("softmax", logits, nn.OpSoftmax))
		b.Output("again", logits)
	}
	mlp := func(b *nn.Builder, size, _, _ nn.Ref) {
		answers(b, b.Dense("out", b.Dense("two", b.Dense("one", size, 64, nn.OpRelu), 32, nn.OpTanh), 3, ""))
	}
	embeddings := func(b *nn.Builder, size, id, town nn.Ref) {
		x := b.Concat("x", size, b.Embedding("ids", id, 20, 4), b.Embedding("towns", town, 5, 3))
		answers(b, b.Dense("out", b.Dense("one", x, 16, nn.OpSigmoid), 3, ""))
	}
	wideDeep := func(b *nn.Builder, size, id, town nn.Ref) {
		wide := b.Concat("wide", b.OneHot("id/one_hot", id, 20), b.OneHot("town/one_hot", town, 5))
		deep := b.Dense("deep", b.Concat("x", size, b.Embedding("ids", id, 20, 4)), 16, nn.OpRelu)
		answers(b, b.Add("sum", b.Dense("deep_out", deep, 3, ""), b.Dense("wide_out", wide, 3, "")))
	}
	return []modelCase{
		{"MLP", built(t, mlp), columns()}, {"embeddings", built(t, embeddings), columns()}, {"wide and deep", built(t, wideDeep), columns()},
	}
}

func TestWholeModelsGiveWhatNNGives(t *testing.T) {
	t.Parallel()
	runInONNXRuntime(t, modelCases(t))
}

// An output may be called as another node, or a helper of one, is; it may be an input itself.
func TestNamesDoNotClash(t *testing.T) {
	t.Parallel()
	g := &nn.Graph{
		Inputs: []nn.Input{{Name: "x", Width: 2}},
		Params: []nn.Param{{Name: "b/zero", Shape: []int{2}, Values: []float32{1, 2}}, {Name: "b", Shape: []int{1}, Values: []float32{7}}},
		Nodes: []nn.Node{
			{Name: "a", Op: nn.OpAddBias, In: []string{"x", "b/zero"}},
			{Name: "c", Op: nn.OpDropNaN, In: []string{"a"}},
			{Name: "d", Op: nn.OpMul, In: []string{"c", "b"}},
		},
		Outputs: []nn.Output{
			{Name: "a", Node: "d", Width: 2}, {Name: "d", Node: "a", Width: 2}, {Name: "c/zero", Node: "c", Width: 2},
			{Name: "copy", Node: "x", Width: 2}, {Name: "b", Node: "d", Width: 2},
		},
	}
	runInONNXRuntime(t, []modelCase{{"clashing names", g, map[string]nn.Value{"x": nn.Floats(2, 1, -3, nan, 0.5)}}})
}

func TestAnOutputCalledAsAnInputIsRefused(t *testing.T) {
	t.Parallel()
	g := &nn.Graph{Inputs: []nn.Input{{Name: "x", Width: 1}}, Outputs: []nn.Output{{Name: "x", Node: "x", Width: 1}}}
	err := onnx.Write(filepath.Join(t.TempDir(), "m.onnx"), g, nil)
	if err == nil || !strings.Contains(err.Error(), `output "x" has the name of an input`) {
		t.Errorf("error is %v", err)
	}
}

func TestWhatCantBeWrittenIsNamed(t *testing.T) {
	t.Parallel()
	for want, node := range map[string]nn.Node{
		`node "bucket": op Hash can't be written as ONNX operators`: {Name: "bucket", Op: nn.OpHash, In: []string{"word"}, Attr: nn.Attr{Depth: 3}},
		`node "id": token 1 of the vocabulary, "\xff", is not UTF-8`: {
			Name: "id", Op: nn.OpVocab, In: []string{"word"}, Attr: nn.Attr{Vocabulary: []string{"a", "\xff"}, Depth: 3}},
	} {
		g := &nn.Graph{Inputs: []nn.Input{{Name: "word", Kind: nn.String, Width: 1}}, Nodes: []nn.Node{node}}
		g.Outputs = []nn.Output{{Name: "id", Node: node.Name, Width: 1}}
		err := onnx.Write(filepath.Join(t.TempDir(), "m.onnx"), g, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %s", err, want)
		}
	}
}

func TestTheSameGraphGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	var files []string
	for range 3 {
		path := filepath.Join(t.TempDir(), "m.onnx")
		if err := onnx.Write(path, modelCases(t)[2].graph, nil); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, string(text))
	}
	if files[0] != files[1] || files[1] != files[2] {
		t.Error("three files of one graph differ")
	}
}

func TestARuntimeListsTheInputs(t *testing.T) {
	t.Parallel()
	b := nn.NewBuilder(nn.NewRand(1))
	b.Output("y", b.Embedding("table", b.Hash("town_bucket", b.Input("town", nn.String, 1), 7), 7, 2))
	whole, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	g, inputs, err := partition.Graph(whole, onnx.Holds)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "m.onnx")
	if err := onnx.Write(path, g, inputs); err != nil {
		t.Fatal(err)
	}
	var answers []answer
	request := map[string]any{"path": path, "inputs": map[string]sent{"town_bucket": send(nn.Ints(1, 3))}}
	tftest.Run(t, runScript, []any{request}, &answers)
	if diff := cmp.Diff(inputs[0].Note, answers[0].Docs["town_bucket"]); diff != "" {
		t.Errorf("documentation: want - got +\n%s", diff)
	}
	var listed []partition.Input
	if err := json.Unmarshal([]byte(answers[0].Metadata["inputs"]), &listed); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(inputs, listed); diff != "" {
		t.Errorf("metadata: want - got +\n%s", diff)
	}
}
