package bayes

import (
	"math"
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/compute/tune/space"
)

func TestTheSlopeOfASurfaceIsThatOfDifferences(t *testing.T) {
	t.Parallel()
	bound := seen(18, 3)
	bound.Beta = 2
	for name, search := range map[string]Search{
		"improvement":         seen(18, 3),
		"doubted improvement": seen(19, 3),
		"bound":               bound,
		"constrained":         constrained(seen(18, 3)),
	} {
		surface, err := search.surface(newCube(search.Space))
		if err != nil {
			t.Fatal(err)
		}
		at, gradient := []float64{0.41, 0.62, 0.33}, make([]float64, 3)
		if value := surface.slope(at, gradient); value != surface.at(at) {
			t.Errorf("%s: %v with the slope, %v without", name, value, surface.at(at))
		}
		for d := range at {
			const h = 1e-5
			moved := func(step float64) float64 {
				x := slices.Clone(at)
				x[d] += step
				return surface.at(x)
			}
			if want := (moved(h) - moved(-h)) / (2 * h); math.Abs(gradient[d]-want) > 1e-4*max(1, math.Abs(want)) {
				t.Errorf("%s by %d: %v, by differences %v", name, d, gradient[d], want)
			}
		}
	}
}

// TestNothingIsWorthMoreThanItsRoughValue: this allows leaving most spots unevaluated.
func TestNothingIsWorthMoreThanItsRoughValue(t *testing.T) {
	t.Parallel()
	search := seen(18, 3)
	surface, err := search.surface(newCube(search.Space))
	if err != nil {
		t.Fatal(err)
	}
	for _, spot := range search.candidates(newCube(search.Space)) {
		if worth, rough := surface.at(spot.point), surface.rough(spot.point); worth > rough+1e-9 {
			t.Fatalf("%v is worth %v, roughly at most %v", spot.point, worth, rough)
		}
	}
}

// TestTheHighestSpotIsFound compares with a fine grid all over the square.
func TestTheHighestSpotIsFound(t *testing.T) {
	t.Parallel()
	for n := 6; n < 30; n += 4 {
		search := seen(n, 2)
		surface, err := search.surface(newCube(search.Space))
		if err != nil {
			t.Fatal(err)
		}
		highest := math.Inf(-1)
		for i := range 201 {
			for j := range 201 {
				highest = max(highest, surface.at([]float64{float64(i) / 200, float64(j) / 200}))
			}
		}
		values, _, err := search.Propose()
		if err != nil {
			t.Fatal(err)
		}
		if found := surface.at(newCube(search.Space).of(values).point); found < highest-1e-3 {
			t.Errorf("after %d: worth %v, there is %v", n, found, highest)
		}
	}
}

// TestTheHighestOfManyPointsIsFound compares with all points of a space that is too large for each
// to be a candidate.
func TestTheHighestOfManyPointsIsFound(t *testing.T) {
	t.Parallel()
	search := Search{}
	for _, name := range []string{"a", "b", "c", "d"} {
		search.Space = append(search.Space, space.Parameter{Name: name, Kind: space.Int, Min: 0, Max: 11, Sampling: space.Linear})
	}
	search.Space = append(search.Space, space.Parameter{Name: "e", Kind: space.Choice, Choices: []any{"x", "y"}})
	for _, values := range Spread(search.Space, space.NewStream(5, 0), 0, 20) {
		score := 0.0
		for i, value := range values[:4] {
			score += math.Sin(float64(value.Of.(int64))/2 + float64(i))
		}
		search.Seen = append(search.Seen, Seen{Values: values, Score: score})
	}
	c := newCube(search.Space)
	surface, err := search.surface(c)
	if err != nil {
		t.Fatal(err)
	}
	highest := math.Inf(-1)
	for values := range search.Space.Points() {
		highest = max(highest, surface.at(c.of(values).point))
	}
	values, _, err := search.Propose()
	if err != nil {
		t.Fatal(err)
	}
	if found := surface.at(c.of(values).point); found < highest-1e-9 {
		t.Errorf("worth %v, there is %v", found, highest)
	}
}

func TestWhatWasHadIsNoCandidate(t *testing.T) {
	t.Parallel()
	search := Search{Space: space.Space{{Name: "a", Kind: space.Int, Min: 1, Max: 3, Sampling: space.Linear}}}
	had := space.Values{{Name: "a", Of: int64(2)}}
	search.Had = map[string]bool{had.Key(): true}
	if spots := search.candidates(newCube(search.Space)); len(spots) != 2 {
		t.Errorf("%d candidates, expected 2", len(spots))
	}
}

func TestEachFourthTrialDoubts(t *testing.T) {
	t.Parallel()
	var doubts []float64
	for n := range 5 {
		search := seen(n+1, 1)
		search.Pending = []space.Values{{{Name: "a", Of: 0.5}}}
		surface, err := search.surface(newCube(search.Space))
		if err != nil {
			t.Fatal(err)
		}
		doubts = append(doubts, surface.doubt)
	}
	if want := []float64{1, 3, 1, 1, 1}; !slices.Equal(doubts, want) {
		t.Errorf("%v, expected %v", doubts, want)
	}
}

// seen returns a search that has so many observations of a cube.
func seen(n, d int) Search {
	search := Search{}
	for i := range d {
		name := string(rune('a' + i))
		search.Space = append(search.Space, space.Parameter{Name: name, Kind: space.Float, Max: 1, Sampling: space.Linear})
	}
	for _, values := range Spread(search.Space, space.NewStream(5, 0), 0, n) {
		score := 0.0
		for i, value := range values {
			score += math.Sin(5*value.Of.(float64) + float64(i))
		}
		search.Seen = append(search.Seen, Seen{Values: values, Score: score})
	}
	return search
}

// constrained requires the first parameter to be at most a half, and another constraint to be
// unknown.
func constrained(search Search) Search {
	for i := range search.Seen {
		unknown := math.NaN()
		if i%3 > 0 {
			unknown = -1
		}
		search.Seen[i].Excess = []float64{search.Seen[i].Values[0].Of.(float64) - 0.5, unknown}
	}
	return search
}
