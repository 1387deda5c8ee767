package skew_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
	"github.com/stoker-ml/stoker/compute/tf/skew"
	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// synthesized asks about a model of a run without raw examples, with synthetic rows that the model
// in memory answered. change is what is done to the line of a row that the model was evaluated on.
func synthesized(t *testing.T, m trained, change func(map[string]map[string][]any)) skew.Question {
	t.Helper()
	q := m.question(t)
	remembered(t, &q, headOfMemory, change)
	q.Raw, q.Labels = nil, []string{"species"}
	made, err := skew.Synthesize(t.Context(), skew.Synthesis{TransformGraph: penguinGraph, Transformed: q.Transformed})
	if err != nil || len(made.Rows) < 10 {
		t.Fatalf("%d synthetic rows, note %q, error %v", len(made.Rows), made.Note, err)
	}
	q.Synthetic = made.Rows
	model, err := savedmodel.Open(q.Model)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(q.Memory, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for i, text := range made.Features {
		var features map[string][]float32
		if err := json.Unmarshal(text, &features); err != nil {
			t.Fatal(err)
		}
		inputs := map[string]tensor.Tensor{}
		for _, name := range measures {
			if inputs[name], err = tensor.New([]int{1, 1}, features[name]); err != nil {
				t.Fatal(err)
			}
		}
		delete(features, "species_xf")
		answer, err := model.Run("predict_tensors", inputs)
		if err != nil {
			t.Fatal(err)
		}
		logits, _ := tensor.Values[float32](answer["logits"])
		line := map[string]any{"synthetic": i, "features": features, "outputs": map[string]any{"": logits}}
		if err := json.NewEncoder(file).Encode(line); err != nil {
			t.Fatal(err)
		}
	}
	return q
}

func TestSyntheticRowsAreComparedWithoutRawExamples(t *testing.T) {
	t.Parallel()
	g := net(t, measures...)
	r := ask(t, synthesized(t, trained{g, g, penguinGraph}, nil))
	if !r.Synthetic || !r.Raw || r.Rows < 10 || r.Asked < 10 || r.NotCompared != "" || len(r.Differences) > 0 || strings.Contains(r.Note, "compared with anything") {
		t.Errorf("report %+v", r)
	}
}

func TestAnotherTransformGraphIsFoundWithSyntheticRows(t *testing.T) {
	t.Parallel()
	g := net(t, measures...)
	r := ask(t, synthesized(t, trained{g, g, shifted(t)}, nil))
	if !r.Synthetic || len(r.Differences) == 0 || r.Differences[0].Name != "logits" {
		t.Errorf("report %+v", r)
	}
}

// A module that gives its model other features than the transformed ones would give it others of
// the synthetic rows too.
func TestSyntheticRowsAreNotComparedWithAModuleThatChangesFeatures(t *testing.T) {
	t.Parallel()
	g := net(t, measures...)
	scale := func(row map[string]map[string][]any) { row["features"][measures[0]][0] = 0.125 }
	r := ask(t, synthesized(t, trained{g, g, shifted(t)}, scale))
	if r.Synthetic || len(r.Differences) > 0 || !strings.Contains(r.Note, "the module gives its model other features than the transformed ones") {
		t.Errorf("report %+v", r)
	}
}

// A module that cuts off large values gives its model other features of some rows alone: synthetic
// rows beyond the others aren't compared.
func TestSyntheticRowsBeyondWhatAModelWasGivenAreNotCompared(t *testing.T) {
	t.Parallel()
	g := net(t, measures...)
	cut := func(row map[string]map[string][]any) {
		for _, name := range measures {
			if x := float64(row["features"][name][0].(float32)); x > -0.5 {
				row["features"][name][0] = -0.5
			}
		}
	}
	r := ask(t, synthesized(t, trained{g, g, shifted(t)}, cut))
	if r.Synthetic || len(r.Differences) > 0 || !strings.Contains(r.Note, "compared with anything") {
		t.Errorf("report %+v", r)
	}
}

func TestNothingIsSynthesizedWithoutASchema(t *testing.T) {
	t.Parallel()
	for _, q := range []skew.Synthesis{
		{TransformGraph: t.TempDir(), Transformed: split("transformed_examples")},
		{TransformGraph: penguinGraph, Transformed: []string{filepath.Join(t.TempDir(), "*")}},
	} {
		if made, err := skew.Synthesize(t.Context(), q); err != nil || len(made.Rows) > 0 || made.Note == "" {
			t.Errorf("%+v, %v", made, err)
		}
	}
}
