package suggest

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// many returns results of which some failed, some violate constraints and some have equal scores.
func many(n, objectives int) []result {
	random := rand.New(rand.NewPCG(1, uint64(objectives)))
	results := make([]result, n)
	for i := range results {
		if i%7 == 3 {
			continue
		}
		for range objectives {
			results[i].scores = append(results[i].scores, float64(random.IntN(2*n)))
		}
		if i%5 == 1 {
			results[i].broken = random.Float64()
		}
	}
	return results
}

func TestTheForemostAreTheBestOfAll(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 24, 25, 26, 524, 525, 526, 3000} {
		results := many(n, 1)
		if got, want := foremost(results, 25), ranking(results)[:min(25, n)]; !slices.Equal(got, want) {
			t.Errorf("%d results: expected %v, got %v", n, want, got)
		}
	}
}

func TestTheForemostOfSeveralObjectivesAreTheirFront(t *testing.T) {
	t.Parallel()
	results := many(3000, 2)
	var front []int
	for i, l := range layer(results) {
		if l.front == 0 && results[i].scores != nil && results[i].broken == 0 {
			front = append(front, i)
		}
	}
	got := foremost(results, 25)
	if len(front) == 0 || len(front) > 25 {
		t.Fatalf("expected a front of at most 25, got %d", len(front))
	}
	for _, i := range front {
		if !slices.Contains(got, i) {
			t.Errorf("expected result %d, which no other dominates, among the foremost", i)
		}
	}
}

func TestALargeStudyIsThinned(t *testing.T) {
	t.Parallel()
	results := many(20_000, 1)
	for i := range results {
		results[i].broken += float64(i) / 1e9 // tells results from each other
	}
	place := map[float64]int{}
	for i, r := range results {
		place[r.broken] = i
	}
	kept := thinned(results)
	var at []int
	for _, r := range kept {
		at = append(at, place[r.broken])
	}
	if len(kept) > mostKnown || len(kept) < mostKnown-mostGood || !slices.IsSorted(at) {
		t.Errorf("expected about %d results in their order, got %d", mostKnown, len(kept))
	}
	for i := len(results) - mostKnown/2; i < len(results); i++ {
		if !slices.Contains(at, i) {
			t.Errorf("expected the newest half, got none of index %d", i)
		}
	}
	for _, i := range ranking(results)[:mostGood] {
		if !slices.Contains(at, i) {
			t.Errorf("expected the best, got none of index %d", i)
		}
	}
	for from := 0; from < len(results)-mostKnown/2-100; from += 100 {
		if !slices.ContainsFunc(at, func(i int) bool { return i >= from && i < from+100 }) {
			t.Errorf("expected a result of each time, got none of %d to %d", from, from+99)
		}
	}
	if few := results[:mostKnown]; len(thinned(few)) != len(few) {
		t.Errorf("expected all of %d results, got %d", len(few), len(thinned(few)))
	}
}
