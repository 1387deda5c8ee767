package builtin

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
)

// raw returns a dataset of every kind of feature, each seen with the numbers 1 and 4.
func raw() (dataset, *survey) {
	d := dataset{
		inputs: example.Spec{
			{Name: "count", Kind: example.Int64},
			{Name: "fixed", Kind: example.Float, Shape: []int{1}},
			{Name: "id", Kind: example.Int64, Categorical: true, IntRange: &example.Range{Min: 0, Max: 6}},
			{Name: "open", Kind: example.Int64, Categorical: true},
			{Name: "size", Kind: example.Float},
			{Name: "word", Kind: example.Bytes, Vocabulary: []string{"a", "b"}},
		},
		label: example.Feature{Name: "y", Kind: example.Float, Shape: []int{1}},
	}
	s := &survey{rows: 2, numbers: map[string][]moments{}}
	for _, f := range d.inputs {
		var m moments
		m.add(1)
		m.add(4)
		s.numbers[f.Name] = []moments{m}
	}
	return d, s
}

func TestFeaturesBecomeNumbersAsDocumented(t *testing.T) {
	t.Parallel()
	d, s := raw()
	n, err := newNetwork(config{Activation: "relu", EmbeddingDim: 2, HashBuckets: 5}, d, s)
	if err != nil {
		t.Fatal(err)
	}
	nan := float32(math.NaN())
	e, err := nn.NewEvaluator(n.model.Graph, n.model.Graph.NodeNames()...)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Run(map[string]nn.Value{
		"count": nn.Ints(1, 4), "fixed": nn.Floats(1, 1), "id": nn.Ints(1, 7), "open": nn.Ints(1, 4), "size": nn.Floats(1, nan),
		"word": nn.Strings(1, "b"),
	}); err != nil {
		t.Fatal(err)
	}
	want := []float32{
		1, -1, // count and fixed: (4-2.5)/1.5 and (1-2.5)/1.5
		0, 0, 0, 0, 0, 0, 0, 1, // id: of 0..6, unknown
		0, 0, 0, 0, 1, 0, // open: 4 is the largest seen
		0,       // size: missing, so the mean
		0, 1, 0, // word: a, b, unknown
	}
	if diff := cmp.Diff(want, e.Value("features").Floats); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
}

func TestNumbersAreScaledAsNormalizeSays(t *testing.T) {
	t.Parallel()
	d, s := raw()
	constant := moments{}
	constant.add(7)
	s.numbers["fixed"] = []moments{constant}
	c := config{Activation: "relu", EmbeddingDim: 2, HashBuckets: 5}
	c.Normalize = map[string]any{"size": minmax, "fixed": minmax, "count": minmax}
	d.spec = d.inputs
	if err := d.normalize(c.normalizeConfig); err != nil {
		t.Fatal(err)
	}
	n, err := newNetwork(c, d, s)
	if err != nil {
		t.Fatal(err)
	}
	e, err := nn.NewEvaluator(n.model.Graph, n.model.Graph.NodeNames()...)
	if err != nil {
		t.Fatal(err)
	}
	nan := float32(math.NaN())
	// 2.5 is the mean
	for _, row := range []struct{ size, want float32 }{{1, 0}, {4, 1}, {2.5, 0.5}, {7, 2}, {nan, 0.5}} {
		if err := e.Run(map[string]nn.Value{
			"count": nn.Ints(1, 4), "fixed": nn.Floats(1, 9), "id": nn.Ints(1, 7), "open": nn.Ints(1, 4), "size": nn.Floats(1, row.size), "word": nn.Strings(1, "b"),
		}); err != nil {
			t.Fatal(err)
		}
		got := e.Value("features").Floats
		// float32's rounding of two products
		if got[0] != 1 || got[1] != 0 || math.Abs(float64(got[16]-row.want)) > 1e-6 {
			t.Errorf("count 4, constant and size %v become %v", row.size, got)
		}
	}
}

// Vocabularies of tf.Transform without OOV buckets have a domain from -1.
func TestAWordOutsideItsVocabularyStandsAmongAllOthers(t *testing.T) {
	t.Parallel()
	d, s := raw()
	d.inputs[2].IntRange.Min = -1
	n, err := newNetwork(config{Activation: "relu", EmbeddingDim: 2, HashBuckets: 5}, d, s)
	if err != nil {
		t.Fatal(err)
	}
	out, err := nn.NewEvaluator(n.model.Graph, n.model.Graph.NodeNames()...)
	if err != nil {
		t.Fatal(err)
	}
	for id, place := range map[int64]int{-1: 7, 0: 0, 6: 6, 9: 7} {
		if err := out.Run(map[string]nn.Value{
			"count": nn.Ints(1, 4), "fixed": nn.Floats(1, 1), "id": nn.Ints(1, id), "open": nn.Ints(1, 4), "size": nn.Floats(1, 1),
			"word": nn.Strings(1, "b"),
		}); err != nil {
			t.Fatal(err)
		}
		want := make([]float32, 8)
		want[place] = 1
		if diff := cmp.Diff(want, out.Value("features").Floats[2:10]); diff != "" {
			t.Errorf("id %d: want - got +\n%s", id, diff)
		}
	}
	d.inputs[2].IntRange.Min = -2
	_, err = newNetwork(config{Activation: "relu", EmbeddingDim: 2, HashBuckets: 5}, d, s)
	if err == nil || !strings.Contains(err.Error(), "categorical with values -2 to 6, expected -1 to at most ") {
		t.Errorf("error is %v", err)
	}
}

func TestWhatIsMissingIsFilledAsDocumented(t *testing.T) {
	t.Parallel()
	d, s := raw()
	n, err := newNetwork(config{Activation: "relu", EmbeddingDim: 2, HashBuckets: 5}, d, s)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]example.Default{
		"count": {Int64: 3}, "id": {Int64: -1}, "open": {Int64: -1}, "size": {Float: float32(math.NaN())},
	}
	same := cmp.Comparer(func(a, b float32) bool { return a == b || a != a && b != b })
	if diff := cmp.Diff(want, n.defaults, same); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
}
