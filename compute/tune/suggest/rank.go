package suggest

import (
	"cmp"
	"math"
	"slices"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// result is what is known of some values.
type result struct {
	values space.Values
	// scores are those of the objectives, negated so that less is better. nil: it failed, can't be
	// tried, or still runs.
	scores []float64
	// broken is by how much constraints are violated, each relative to its limit; 0 if none is.
	broken float64
}

// resultsOf returns the results of trials.
func resultsOf(s *tune.Study, trials []*tune.Trial) []result {
	results := make([]result, len(trials))
	for i, t := range trials {
		results[i].values = t.Values
		if t.Status == tune.Completed {
			results[i].scores = s.Turned(t)
			results[i].broken = broken(s.Config.Constraints, t.Metrics)
		}
	}
	return results
}

// earlier makes trials from those of an older study of the same objective, if they have its
// metrics.
func earlier(s *tune.Study) []*tune.Trial { return earlierOf(s, 0) }

// earlierOf makes trials from those of an older study, by its number.
func earlierOf(s *tune.Study, study int) (trials []*tune.Trial) {
	for _, e := range s.Config.Earlier {
		if e.Study != study {
			continue
		}
		values := s.Config.Space.Complete(e.Values)
		t := &tune.Trial{Suggestion: tune.Suggestion{Values: values}, Status: tune.Completed, Metrics: e.Metrics}
		if !slices.ContainsFunc(s.Scores(t), math.IsNaN) {
			trials = append(trials, t)
		}
	}
	return trials
}

// broken adds up how far metrics are beyond their limits, relative to each limit's size. A missing
// metric violates its constraint as badly as possible.
func broken(constraints []tune.Constraint, metrics map[string]float64) (sum float64) {
	for _, c := range constraints {
		value, there := metrics[c.Name]
		if !there || math.IsNaN(value) {
			return math.Inf(1)
		}
		if c.Max != nil {
			sum += max(0, value-*c.Max) / size(*c.Max)
		}
		if c.Min != nil {
			sum += max(0, *c.Min-value) / size(*c.Min)
		}
	}
	return sum
}

// size returns the unit in which a distance from a limit is measured.
func size(bound float64) float64 {
	if bound == 0 {
		return 1
	}
	return math.Abs(bound)
}

// ranking returns the order of results, the best first, by their indices: those that satisfy the
// constraints, then those that violate them, the least first, then those without scores. With
// several objectives those that no other dominates come first, and so on; and among these those
// with the largest crowding distance.
func ranking(results []result) []int {
	order := make([]int, len(results))
	for i := range order {
		order[i] = i
	}
	layers := layer(results)
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Or(compare(results[i], results[j]),
			cmp.Compare(layers[i].front, layers[j].front), cmp.Compare(layers[j].distance, layers[i].distance))
	})
	return order
}

// compare is negative if a is better than b; 0 if that depends on their fronts.
func compare(a, b result) int {
	switch {
	case a.scores == nil || b.scores == nil:
		return cmp.Compare(truth(a.scores == nil), truth(b.scores == nil))
	case a.broken != b.broken:
		return cmp.Compare(a.broken, b.broken)
	case len(a.scores) == 1:
		return cmp.Compare(a.scores[0], b.scores[0])
	}
	return 0
}

// foremost returns the indices of the n best of many results, in the order of ranking, of which it
// compares few at a time. With several objectives those that no other dominates are among them, up
// to n.
func foremost(results []result, n int) (best []int) {
	const few = 500
	cut := false // best begins with the n best so far, in their order
	for i, r := range results {
		if !cut || compare(r, results[best[n-1]]) <= 0 {
			best = append(best, i)
		}
		if len(best) == n+few || i == len(results)-1 {
			best = ranked(results, best)
			best, cut = best[:min(n, len(best))], len(best) >= n
		}
	}
	return best
}

// ranked returns the order of some results, by their indices.
func ranked(results []result, some []int) (order []int) {
	compared := make([]result, len(some))
	for k, i := range some {
		compared[k] = results[i]
	}
	for _, k := range ranking(compared) {
		order = append(order, some[k])
	}
	return order
}

func truth(is bool) int {
	if is {
		return 1
	}
	return 0
}
