package suggest

import (
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// alive are the trials that have not failed, or may still be tried again.
func alive(trials []*tune.Trial) (alive []*tune.Trial) {
	for _, t := range trials {
		if t.Status != tune.Failed && t.Status != tune.Infeasible {
			alive = append(alive, t)
		}
	}
	return alive
}

func completed(trials []*tune.Trial) (completed []*tune.Trial) {
	for _, t := range trials {
		if t.Status == tune.Completed {
			completed = append(completed, t)
		}
	}
	return completed
}

// waiting are the trials of a round from which none of the next one goes on.
func waiting(round, next []*tune.Trial) []*tune.Trial {
	parents := make(map[string]bool, len(next))
	for _, t := range next {
		parents[t.Parent] = true
	}
	return slices.DeleteFunc(slices.Clone(round), func(t *tune.Trial) bool { return parents[t.ID] })
}

// best is the best of some completed trials; of equal ones that whose configuration was dealt first.
func best(s *tune.Study, trials []*tune.Trial) *tune.Trial {
	byDeal := slices.SortedFunc(slices.Values(trials), func(a, b *tune.Trial) int {
		return strings.Compare(origin(s, a).ID, origin(s, b).ID)
	})
	return byDeal[ranking(resultsOf(s, byDeal))[0]]
}

// origin is the trial that a chain of promotions began with.
func origin(s *tune.Study, t *tune.Trial) *tune.Trial {
	for t.Parent != "" {
		t = s.Trial(t.Parent)
	}
	return t
}

// budgeted are values with what KerasTuner has Hyperband add, in its order. A promotion has its parent behind it.
func budgeted(values space.Values, at round, bracket, number int) space.Values {
	return append(slices.Clip(values),
		space.Value{Name: "tuner/epochs", Of: int64(at.epochs)},
		space.Value{Name: "tuner/initial_epoch", Of: int64(at.from)},
		space.Value{Name: "tuner/bracket", Of: int64(bracket)},
		space.Value{Name: "tuner/round", Of: int64(number)})
}

// unbudgeted are values without that.
func unbudgeted(values space.Values) space.Values {
	return slices.DeleteFunc(slices.Clone(values), func(v space.Value) bool { return strings.HasPrefix(v.Name, "tuner/") })
}
