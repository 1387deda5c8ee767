package suggest

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// alive returns the trials that have not failed, or may still be tried again.
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

// waiting returns the trials of a round that none of the next one continues.
func waiting(round, next []*tune.Trial) []*tune.Trial {
	parents := make(map[string]bool, len(next))
	for _, t := range next {
		parents[t.Parent] = true
	}
	return slices.DeleteFunc(slices.Clone(round), func(t *tune.Trial) bool { return parents[t.ID] })
}

// unsettled reports whether a trial has not ended for good: its result may allow others to
// continue, or require a replacement.
func unsettled(trials []*tune.Trial) bool {
	return slices.ContainsFunc(trials, func(t *tune.Trial) bool { return t.Status == tune.Running || t.Status == tune.Invalid })
}

// ordered sorts some completed trials, the best first; of equal ones the one whose configuration
// was dealt first.
func ordered(s *tune.Study, trials []*tune.Trial) []*tune.Trial {
	dealt := slices.SortedFunc(slices.Values(trials), func(a, b *tune.Trial) int { return cmp.Compare(origin(s, a), origin(s, b)) })
	ordered := make([]*tune.Trial, 0, len(trials))
	for _, i := range ranking(resultsOf(s, dealt)) {
		ordered = append(ordered, dealt[i])
	}
	return ordered
}

// origin returns the number of the trial with which a chain of promotions began.
func origin(s *tune.Study, t *tune.Trial) int {
	for t.Parent != "" {
		t = s.Trial(t.Parent)
	}
	number, _ := strconv.Atoi(t.ID) // the fold ensures that trials are numbered
	return number
}

// budgeted returns a trial of some values with a budget, which is added to them under KerasTuner's
// names.
func budgeted(values space.Values, budget round, at place) tune.Suggestion {
	return tune.Suggestion{
		Values: append(slices.Clip(values),
			space.Value{Name: "tuner/epochs", Of: int64(budget.epochs)},
			space.Value{Name: "tuner/initial_epoch", Of: int64(budget.from)},
			space.Value{Name: "tuner/bracket", Of: int64(at.bracket)},
			space.Value{Name: "tuner/round", Of: int64(at.round)}),
		From: budget.from, Epochs: budget.epochs, Bracket: at.bracket, Round: at.round, Iteration: at.iteration,
	}
}

// promoted returns a suggestion that continues a parent.
func promoted(suggestion tune.Suggestion, parent *tune.Trial) tune.Suggestion {
	suggestion.Parent = parent.ID
	suggestion.Values = append(suggestion.Values, space.Value{Name: "tuner/trial_id", Of: parent.ID})
	return suggestion
}

// unbudgeted returns values without those that budgets add, which are all of the tuner's own.
func unbudgeted(values space.Values) space.Values {
	return slices.DeleteFunc(slices.Clone(values), func(v space.Value) bool { return strings.HasPrefix(v.Name, space.Own) })
}
