package skew

import (
	"path/filepath"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/graph"
	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

// TensorFlow rounds the weights of a model as our reader does: by a little, in another way for each
// seed.
func TestTensorFlowRoundsWeightsToo(t *testing.T) {
	t.Parallel()
	// A model that TFX's Trainer wrote.
	dir := filepath.Join("..", "savedmodel", "testdata", "penguin", "model")
	split := func(set string) []string {
		return []string{filepath.Join("..", "..", "data", "example", "testdata", "penguin", set, "Split-eval", "*")}
	}
	q := Question{Model: dir, Raw: split("examples"), Transformed: split("transformed_examples"), Rows: 20}
	d, err := readData(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	model, err := savedmodel.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	serving, err := graph.Find(model.Signatures(), servingSignature)
	if err != nil {
		t.Fatal(err)
	}
	c := check{question: q, data: d}
	if err := c.planOutputs(serving, d.raw, nil); err != nil {
		t.Fatal(err)
	}
	for _, by := range []asker{reader{q, model}, python{tftest.Python(t), dir}} {
		answers, err := by.ask(t.Context(), c.questions)
		if err != nil {
			t.Fatal(err)
		}
		distances := map[float64]bool{}
		for seed := range uint64(2) {
			rounded, err := by.askRounded(t.Context(), c.questions, seed+1)
			if err != nil {
				t.Fatal(err)
			}
			most, sum := 0.0, 0.0 // two seeds may have the same largest distance
			for name, answered := range answers[0] {
				for row := range answered {
					distance, _ := rounded[0][name][row].apart(answered[row], 0)
					most, sum = max(most, distance), sum+distance
				}
			}
			if most == 0 || most > 1e-4 {
				t.Errorf("%s, seed %d: answers differ by %g", by.name(), seed, most)
			}
			distances[sum] = true
		}
		if len(distances) != 2 {
			t.Errorf("%s: each seed rounds the same way", by.name())
		}
	}
}
