package space_test

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/tune/space"
)

// example returns a complete best_hyperparameters.txt of KerasTuner's: all kinds, conditions, a
// name scope.
func example(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/best_hyperparameters_example.txt")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// vector is a parameter in KerasTuner: rows of a place, the value there, and that value's place.
type vector struct {
	Case   string                `json:"case"`
	Config struct{ Name string } `json:"config"`
	Rows   [][3]any              `json:"rows"`
	Grid   []any                 `json:"grid_values"`
}

func vectors(t *testing.T) []vector {
	t.Helper()
	text, err := os.ReadFile("testdata/kerastuner.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Vectors []vector }
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all.Vectors
}

// parameters returns those of the example by name, for the vectors.
func parameters(t *testing.T) map[string]space.Parameter {
	t.Helper()
	s, _, err := space.Decode(example(t))
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]space.Parameter{}
	for _, p := range s {
		byName[p.Name] = p
	}
	return byName
}

// mended is the vector for which we differ on purpose: KerasTuner never tries the maximum 0.5 of
// five steps of 0.1.
const mended = "Float step"

func TestValuesAndPlacesAreKerasTuners(t *testing.T) {
	t.Parallel()
	known := parameters(t)
	for _, v := range vectors(t) {
		p := known[v.Config.Name]
		for _, row := range v.Rows {
			if v.Case == mended {
				continue
			}
			place, value, back := row[0].(float64), row[1], row[2].(float64)
			if got := p.At(place); !equal(got, value) {
				t.Errorf("%s: at %v: got %v, expected %v", v.Case, place, got, value)
			}
			if got := p.Place(p.At(place)); got != back {
				t.Errorf("%s: place of %v: got %v, expected %v", v.Case, value, got, back)
			}
		}
	}
}

func TestAStepGridHasItsMaximum(t *testing.T) {
	t.Parallel()
	for _, p := range []space.Parameter{
		parameters(t)["dropout"],
		{Name: "x", Kind: space.Float, Max: 1, Step: 0.1},
		{Name: "x", Kind: space.Float, Max: 1, Step: 0.2},
		{Name: "x", Kind: space.Float, Min: 1e-4, Max: 0.1, Step: 10, Sampling: space.Log},
	} {
		list := p.List()
		if last := list[len(list)-1]; last != p.Max || p.At(1) != p.Max {
			t.Errorf("%v to %v by %v: the last of %v is %v", p.Min, p.Max, p.Step, list, last)
		}
	}
}

func TestGridValuesAreKerasTunersInOrder(t *testing.T) {
	t.Parallel()
	known := parameters(t)
	for _, v := range vectors(t) {
		if v.Case == mended {
			continue
		}
		got := known[v.Config.Name].List()
		if v.Case != "Bool" {
			sortNumbers(v.Grid)
		}
		if !slices.EqualFunc(got, v.Grid, equal) {
			t.Errorf("%s: got %v, expected %v", v.Case, got, v.Grid)
		}
	}
}

func TestTheExampleIsReadAndWrittenByteForByte(t *testing.T) {
	t.Parallel()
	text := example(t)
	s, values, err := space.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.Encode(values)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(text), string(again)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(values, s.Defaults()); diff != "" {
		t.Errorf("its values are not the defaults: %s", diff)
	}
}

// equal compares one of our values with one that encoding/json read, where all numbers are floats.
func equal(a, b any) bool {
	if i, ok := a.(int64); ok {
		a = float64(i)
	}
	if i, ok := b.(int64); ok {
		b = float64(i)
	}
	x, isNumber := a.(float64)
	y, alsoNumber := b.(float64)
	if isNumber && alsoNumber {
		return math.Abs(x-y) <= 1e-15*math.Abs(y) // pow of two libraries may differ
	}
	return a == b
}
