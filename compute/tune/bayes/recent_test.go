package bayes

import (
	"math"
	"slices"
	"testing"
)

func TestOfVeryManyTheBestAndTheNewestStay(t *testing.T) {
	t.Parallel()
	var all []Seen
	scores := func(seen []Seen) (scores []float64) {
		for _, s := range seen {
			scores = append(scores, s.Score)
		}
		return scores
	}
	for i := range 3000 {
		seen := Seen{Score: float64(i * 7919 % 3001)}
		if i%5 == 0 {
			seen.Score = math.NaN()
		}
		if all = append(all, seen); i%61 > 0 {
			continue
		}
		kept := scores(recent(all))
		if n := len(all); len(kept) > most || len(kept) < min(n, most-steps+1) {
			t.Fatalf("of %d are kept %d", n, len(kept))
		}
		given := scores(all)
		best := func(of []float64) float64 {
			of = slices.DeleteFunc(slices.Clone(of), math.IsNaN)
			if len(of) == 0 {
				return math.NaN()
			}
			return slices.Min(of)
		}
		if a, b := best(kept), best(given); a != b && !math.IsNaN(b) {
			t.Fatalf("of %d, the best, %v, is not kept: %v", len(all), b, a)
		}
		newest := min(len(all), most-steps-cream)
		if !slices.EqualFunc(kept[len(kept)-newest:], given[len(given)-newest:], equal) {
			t.Fatalf("of %d, not all of the newest are kept", len(all))
		}
	}
	if before, after := scores(recent(all[:most+40*steps+1])), scores(recent(all[:most+40*steps+2])); !slices.EqualFunc(before, after[:len(before)], equal) {
		t.Error("one more changes what was there before")
	}
}

func equal(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
