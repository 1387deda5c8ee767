package partition_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/export/partition"
	"github.com/stoker-ml/stoker/compute/nn"
)

// words returns a graph over a number and two strings, and a string that nothing needs.
func words(t *testing.T) *nn.Graph {
	t.Helper()
	b := nn.NewBuilder(nn.NewRand(1))
	size := b.Input("size", nn.Float32, 2)
	colour := b.Vocabulary("colour_id", b.Input("colour", nn.String, 1), []string{"red", "blue"})
	town := b.Hash("town_id", b.Input("town", nn.String, 1), 5)
	b.Hash("idle_id", b.Input("idle", nn.String, 1), 3)
	x := b.Concat("x", size, b.OneHot("colours", colour, 3), b.Embedding("towns", town, 5, 2))
	b.Output("y", b.Dense("dense", x, 1, nn.OpRelu))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func noStrings(op nn.Op) bool { return op != nn.OpVocab && op != nn.OpHash && op != nn.OpCross }

func TestWhatCantBeHeldBecomesAnInput(t *testing.T) {
	t.Parallel()
	rest, inputs, err := partition.Graph(words(t), noStrings)
	if err != nil {
		t.Fatal(err)
	}
	want := []partition.Input{
		{Name: "size", Type: "float32", Shape: [2]int{-1, 2}},
		{Name: "colour_id", Type: "int64", Shape: [2]int{-1, 1},
			Note:         `index of each string of feature "colour" in the vocabulary, 2 for one that isn't in it`,
			ComputedFrom: &partition.Source{Feature: "colour", Vocabulary: []string{"red", "blue"}, Unknown: 2}},
		{Name: "town_id", Type: "int64", Shape: [2]int{-1, 1},
			Note:         `bucket of each string of feature "town": FarmHash Fingerprint64 of its bytes, as an unsigned number, modulo 5`,
			ComputedFrom: &partition.Source{Feature: "town", Hash: partition.FarmHash, Buckets: 5}},
	}
	if diff := cmp.Diff(want, inputs); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
	if _, err := rest.Types(); err != nil {
		t.Errorf("the rest is no graph: %v", err)
	}
}

func TestTheRestGivesTheSameAnswers(t *testing.T) {
	t.Parallel()
	g := words(t)
	rest, _, err := partition.Graph(g, noStrings)
	if err != nil {
		t.Fatal(err)
	}
	e, err := nn.NewEvaluator(g, g.NodeNames()...)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]nn.Value{
		"size": nn.Floats(2, 1, -2, 0.5, 3), "colour": nn.Strings(1, "blue", "green"),
		"town": nn.Strings(1, "Rome", ""), "idle": nn.Strings(1, "", ""),
	}
	if err := e.Run(rows); err != nil {
		t.Fatal(err)
	}
	for _, in := range rest.Inputs {
		rows[in.Name] = e.Value(in.Name)
	}
	got, err := nn.Eval(rest, rows)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(e.Value(g.Outputs[0].Node), got["y"]); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
}

func TestAGraphThatCanBeHeldStaysAsItIs(t *testing.T) {
	t.Parallel()
	rest, inputs, err := partition.Graph(words(t), func(nn.Op) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, in := range inputs {
		names = append(names, in.Name)
		if in.ComputedFrom != nil {
			t.Errorf("input %s is said to be computed", in.Name)
		}
	}
	if got := strings.Join(names, " "); got != "size colour town" {
		t.Errorf("inputs %s, want all that the output needs", got)
	}
	if len(rest.Params) != 3 {
		t.Errorf("%d params, want those of an embedding and a dense layer", len(rest.Params))
	}
}

func TestOnlyLookUpsOfInputsAreLeftOut(t *testing.T) {
	t.Parallel()
	_, _, err := partition.Graph(words(t), func(op nn.Op) bool { return op != nn.OpRelu })
	if want := `node "dense/Relu": op Relu can't be expressed in this format`; err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
}

// crossed returns a graph over a cross of a word and a number, which also stand for themselves.
func crossed(t *testing.T) *nn.Graph {
	t.Helper()
	b := nn.NewBuilder(nn.NewRand(1))
	hour, town := b.Input("hour", nn.Int64, 1), b.Input("town", nn.String, 1)
	cross := b.Cross("when_where", 5, town, hour)
	x := b.Concat("x", b.OneHot("hours", hour, 3), b.OneHot("crosses", cross, 5))
	b.Output("y", b.Dense("dense", x, 1, nn.OpRelu))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestACrossOfInputsBecomesAnInput(t *testing.T) {
	t.Parallel()
	_, inputs, err := partition.Graph(crossed(t), noStrings)
	if err != nil {
		t.Fatal(err)
	}
	want := []partition.Input{
		{Name: "hour", Type: "int64", Shape: [2]int{-1, 1}},
		{Name: "when_where", Type: "int64", Shape: [2]int{-1, 1},
			Note: `bucket of each combination of values of features ["town" "hour"], the last one's values going fastest: ` + partition.CrossHash +
				", as an unsigned number, modulo 5, as tf.sparse.cross_hashed gives it",
			ComputedFrom: &partition.Source{Crossed: []partition.Side{{Feature: "town"}, {Feature: "hour"}}, Hash: partition.CrossHash, Buckets: 5}},
	}
	if diff := cmp.Diff(want, inputs); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
}

func TestACrossOfWhatIsComputedIsRefused(t *testing.T) {
	t.Parallel()
	b := nn.NewBuilder(nn.NewRand(1))
	hour := b.Input("hour", nn.Int64, 1)
	b.Output("y", b.Cross("cross", 5, hour, b.Clamp("early", hour, 3)))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = partition.Graph(g, noStrings)
	if want := `node "cross": op Cross can't be expressed in this format`; err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
}

// JSON would replace bytes that are not UTF-8.
func TestAVocabularyOfAnyBytesIsDescribedWhole(t *testing.T) {
	t.Parallel()
	g := &nn.Graph{
		Inputs:  []nn.Input{{Name: "word", Kind: nn.String, Width: 1}},
		Nodes:   []nn.Node{{Name: "id", Op: nn.OpVocab, In: []string{"word"}, Attr: nn.Attr{Vocabulary: []string{"a", "\xff"}, Depth: 3}}},
		Outputs: []nn.Output{{Name: "id", Node: "id", Width: 1}},
	}
	_, inputs, err := partition.Graph(g, noStrings)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(inputs[0].ComputedFrom)
	if want := `{"feature":"word","raw":["YQ==","/w=="],"unknown":2}`; err != nil || string(text) != want {
		t.Errorf("%s, %v; want %s", text, err, want)
	}
}
