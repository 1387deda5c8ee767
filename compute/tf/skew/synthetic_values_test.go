package skew

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	examplepb "github.com/wamuir/graft/tensorflow/core/example/example_protos_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// corpus returns the synthetic rows of a data set of the corpus.
func corpus(t *testing.T, data string) *synthetic {
	t.Helper()
	real, err := readRows([]string{filepath.Join("..", "..", "data", "example", "testdata", data, "transformed_examples", "Split-eval", "*")}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSynthetic(t.Context(), filepath.Join("..", "savedmodel", "testdata", data, "transform_graph"), "", real)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestPlausibleRowsTransformToWhatTheRunHas(t *testing.T) {
	t.Parallel()
	for _, data := range []string{"penguin", "taxi"} {
		s := corpus(t, data)
		rows := s.plausible(t.Context())
		if len(rows) < 2 {
			t.Fatalf("%s: %d plausible rows", data, len(rows))
		}
		made, err := s.graph.transform(t.Context(), rows)
		if err != nil {
			t.Fatal(err)
		}
		for name, l := range s.limits() {
			for i := range rows {
				if d := l.distance(made[i][name]); d != 0 {
					t.Errorf("%s: row %d: feature %s lies %v outside", data, i, name, d)
				}
			}
		}
	}
}

// picky is a model that has an error for some values.
type picky struct {
	fails func(features map[string]*examplepb.Feature) bool
}

func (picky) name() string { return "go" }

func (picky) ask(context.Context, []question) ([]map[string]column, error) { return nil, nil }

func (picky) askRounded(context.Context, []question, uint64) ([]map[string]column, error) {
	return nil, nil
}

func (p picky) askEach(_ context.Context, questions []question) ([]error, error) {
	failures := make([]error, len(questions))
	for i, q := range questions {
		for _, input := range q.calls[0].inputs {
			texts, _ := tensor.Values[string](input)
			var e examplepb.Example
			if err := proto.Unmarshal([]byte(texts[0]), &e); err != nil {
				return nil, err
			}
			if p.fails(e.GetFeatures().GetFeature()) {
				failures[i] = modelError{question: i, error: errors.New("assertion failed")}
			}
		}
	}
	return failures, nil
}

// A right model may have an error for values that its data never have: it is not refused for those
// of synthetic rows.
func TestAnErrorOfTheValuesRefusesNoModel(t *testing.T) {
	t.Parallel()
	model, err := savedmodel.Open(filepath.Join("..", "savedmodel", "testdata", "penguin", "model"))
	if err != nil {
		t.Fatal(err)
	}
	number := func(features map[string]*examplepb.Feature, name string) float32 {
		return features[name].GetFloatList().GetValue()[0]
	}
	for name, tc := range map[string]struct {
		plausible bool
		fails     func(map[string]*examplepb.Feature) bool
		refused   string
		note      string
	}{
		"an error for what no penguin has": {true, func(f map[string]*examplepb.Feature) bool {
			return number(f, "flipper_length_mm") <= 0 || number(f, "flipper_length_mm") > 1 || number(f, "body_mass_g") > 1
		}, "", "synthetic raw rows"},
		"an error for each row":                       {true, func(map[string]*examplepb.Feature) bool { return true }, "has an error for each of ", ""},
		"an error for each row, whatever that may be": {false, func(map[string]*examplepb.Feature) bool { return true }, "", "perhaps because of the values"},
		"needs the label for some values": {true, func(f map[string]*examplepb.Feature) bool {
			return f["species"] == nil && number(f, "body_mass_g") > 0
		}, `without the label "species"`, ""},
		"needs the label, and no row is known to be plausible": {false, func(f map[string]*examplepb.Feature) bool { return f["species"] == nil },
			`without the label "species"`, ""},
	} {
		s := corpus(t, "penguin")
		real := s.real
		if !tc.plausible {
			real = nil
		}
		c := check{
			question: Question{TransformGraph: filepath.Join("..", "savedmodel", "testdata", "penguin", "transform_graph"), Labels: []string{"species"},
				Logger: slog.New(slog.DiscardHandler)},
			data: data{transformed: real}, askers: []asker{picky{tc.fails}},
		}
		err := c.askSynthetic(t.Context(), model)
		if tc.refused != "" {
			if err == nil || !strings.Contains(err.Error(), tc.refused) {
				t.Errorf("%s: error %v, want %s", name, err, tc.refused)
			}
			continue
		}
		if notes := strings.Join(c.notes, "; "); err != nil || !strings.Contains(notes, tc.note) {
			t.Errorf("%s: notes %q, error %v, want %s", name, notes, err, tc.note)
		}
	}
}
