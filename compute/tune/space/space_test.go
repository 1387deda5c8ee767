package space_test

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tune/space"
)

// sortNumbers sorts numbers in ascending order.
func sortNumbers(list []any) {
	slices.SortFunc(list, func(a, b any) int { return cmp.Compare(a.(float64), b.(float64)) })
}

// models is a space with a parameter of each of two families, and one below one of those.
var models = space.Space{
	{Name: "model", Kind: space.Choice, Choices: []any{"mlp", "cnn"}},
	{Name: "depth", Kind: space.Int, Min: 1, Max: 3, Conditions: []space.Condition{{"model", []any{"mlp"}}}},
	{Name: "filters", Kind: space.Int, Min: 8, Max: 64, Step: 8, Conditions: []space.Condition{{"model", []any{"cnn"}}}},
	{Name: "pool", Kind: space.Boolean, Conditions: []space.Condition{{"filters", []any{int64(8), int64(16)}}}},
	{Name: "rate", Kind: space.Choice, Choices: []any{0.1, 0.2}, Ordered: true},
}

func TestOnlyActiveParametersHaveValues(t *testing.T) {
	t.Parallel()
	last := models.Fill(func(p space.Parameter) any { return p.At(1) })
	want := space.Values{{"model", "cnn"}, {"filters", int64(64)}, {"rate", 0.2}}
	if last.Key() != want.Key() {
		t.Errorf("got %v, expected %v", last, want)
	}
	stale := space.Values{{"model", "mlp"}, {"filters", int64(8)}}
	if pool := models[3]; models.Active(pool, stale) {
		t.Error("a parameter below an inactive one is active")
	}
	got := models.Complete(space.Values{{"rate", int64(1)}, {"filters", 16.0}, {"model", "cnn"}, {"depth", int64(2)}, {"other", "x"}})
	if want := `{"model":"cnn","filters":16,"pool":false,"rate":1}`; marshal(t, got) != want {
		t.Errorf("completed to %s, expected %s", marshal(t, got), want)
	}
}

func TestPointsAreCountedAsTheyAreEnumerated(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		space space.Space
		size  int
	}{
		"conditional": {models, (3 + 2*2 + 6) * 2},
		"empty":       {nil, 1},
		"one family":  {models[:2], 3 + 1},
		"log ints":    {space.Space{{Name: "n", Kind: space.Int, Min: 1, Max: 1000, Sampling: space.Log}}, 1000},
	} {
		keys := map[string]bool{}
		for values := range test.space.Points() {
			keys[values.Key()] = true
		}
		if test.space.Size() != test.size || len(keys) != test.size {
			t.Errorf("%s: size %d, enumerated %d: expected %d", name, test.space.Size(), len(keys), test.size)
		}
	}
	for name, endless := range map[string]space.Space{
		"a float":    {{Name: "x", Kind: space.Float, Max: 1}},
		"two pairs":  {{Name: "x", Kind: space.Int, Max: 1e9}, {Name: "y", Kind: space.Boolean}},
		"many pairs": manyParents(40),
	} {
		if n := endless.Size(); n != 0 {
			t.Errorf("%s: size %d", name, n)
		}
	}
}

// manyParents returns a space of parents that all have a child of their own, so that iterating over
// its points would take too long to count them.
func manyParents(n int) (s space.Space) {
	for i := range n {
		name := strings.Repeat("a", i+1)
		s = append(s, space.Parameter{Name: name, Kind: space.Boolean},
			space.Parameter{Name: name + "/child", Kind: space.Boolean, Conditions: []space.Condition{{name, []any{true}}}})
	}
	return s
}

func TestJoinKeepsWhatIsKnownAndPutsParentsFirst(t *testing.T) {
	t.Parallel()
	wider := models[1]
	wider.Max = 30
	joined := models[:2].Join(space.Space{models[3], models[2], wider, models[0], models[4]})
	var names []string
	for _, p := range joined {
		names = append(names, p.Name)
	}
	if got := strings.Join(names, " "); got != "model depth filters pool rate" {
		t.Error(got)
	}
	if joined[1].Max != 3 {
		t.Error("a known parameter took another range")
	}
	if err := joined.Check(); err != nil {
		t.Error(err)
	}
}

func TestKeysDistinguishTrials(t *testing.T) {
	t.Parallel()
	a := space.Values{{"a", int64(1)}, {"b", 0.5}, {"tuner/epochs", int64(3)}}
	if b := (space.Values{{"b", 0.5}, {"a", 1.0}, {"tuner/trial_id", "0003"}}); a.Key() != b.Key() {
		t.Errorf("%s and %s", a.Key(), b.Key())
	}
	for _, other := range []space.Values{
		{{"a", int64(1)}}, {{"a", "1"}, {"b", 0.5}}, {{"a", int64(1)}, {"b", math.Nextafter(0.5, 1)}}, {{"a", int64(10)}, {"b", 5.0}},
	} {
		if a.Key() == other.Key() {
			t.Errorf("%v and %v share a key", a, other)
		}
	}
}

// A stream's numbers depend on its four parts alone, and are uniform: 10,000 of them fill 100 bins
// with a chi-squared of 99 degrees of freedom, which exceeds 180 once in a million.
func TestStreamsAreIndependentAndEven(t *testing.T) {
	t.Parallel()
	for name, draw := range map[string]func(i int) float64{
		"seeds":  func(i int) float64 { return space.NewStream(int64(i), 0).Float64("x", 0) },
		"trials": func(i int) float64 { return space.NewStream(7, i).Float64("x", 0) },
		"names": func(i int) float64 {
			return space.NewStream(7, 0).Float64(strings.Repeat("x", i%100)+string(rune('a'+i/100)), 0)
		},
		"draws": func(i int) float64 { return space.NewStream(7, 0).Float64("x", i) },
	} {
		var parts [100]float64
		for i := range 10_000 {
			parts[int(draw(i)*100)]++
		}
		chi := 0.0
		for _, n := range parts {
			chi += (n - 100) * (n - 100) / 100
		}
		if chi > 180 {
			t.Errorf("%s: chi-squared %v", name, chi)
		}
	}
	if got := space.NewStream(1, 2).Float64("rate", 3); got != space.NewStream(1, 2).Float64("rate", 3) || got < 0 || got >= 1 {
		t.Error(got)
	}
}

func marshal(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
