package suggest

import (
	"math"
	"slices"

	"github.com/stoker-ml/stoker/compute/tune"
)

// Stop says whether a trial that runs had better end early: its curve of the objective so far is
// worse than the others' were at the same step (Golovin et al., KDD 2017). What counts of a curve
// is its best value up to the step. With the median rule a trial goes on while it is as good as the
// median of the completed trials that had reported by then, with the percentile rule while it is
// among the best so many percent of them. One that was stopped at an earlier step counts with what
// it had, or the rule would be stricter with each that it stops. A value that is no number is worse
// than any.
//
// Trials of several objectives are never stopped: being worse in one is no reason.
func Stop(s *tune.Study, trial *tune.Trial, curve []tune.Point) bool {
	rule := s.Config.Stopping
	if rule.Rule == "" || len(s.Config.Objectives) != 1 || len(curve) == 0 {
		return false
	}
	objective := s.Config.Objectives[0]
	step := curve[len(curve)-1].Step
	others := bests(s.Trials, trial, objective, step)
	if step < rule.MinStep || len(others) < max(rule.MinTrials, 1) {
		return false
	}
	share := rule.Percentile / 100
	if rule.Rule == tune.Median {
		share = 0.5
	}
	return bestUpTo(objective, curve, step) > quantile(others, share)
}

// bests are, of each completed trial that had reported by a step, its best value then, turned so
// that less is better.
func bests(trials []*tune.Trial, but *tune.Trial, objective tune.Objective, step int) (values []float64) {
	for _, t := range trials {
		curve := t.Curves[objective.Name]
		if t.Status != tune.Completed || t.ID == but.ID || len(curve) == 0 || curve[0].Step > step {
			continue
		}
		values = append(values, bestUpTo(objective, curve, step))
	}
	return values
}

// bestUpTo is the best value of a curve up to a step, turned so that less is better; endlessly bad
// if none is a number.
func bestUpTo(objective tune.Objective, curve []tune.Point, step int) float64 {
	until := slices.IndexFunc(curve, func(p tune.Point) bool { return p.Step > step })
	if until < 0 {
		until = len(curve)
	}
	best, there := objective.Best(curve[:until])
	switch {
	case !there:
		return math.Inf(1)
	case objective.Direction == tune.Max:
		return -best.Value
	}
	return best.Value
}

// quantile is the value below which a share of some lie: that at rank share (n-1) of the sorted
// ones, and between two ranks the point between their values that is as far along.
func quantile(values []float64, share float64) float64 {
	slices.Sort(values)
	rank := share * float64(len(values)-1)
	low, high := values[int(math.Floor(rank))], values[int(math.Ceil(rank))]
	if low == high || math.IsInf(high, 0) {
		return low // endlessly bad ones have nothing between them and the others
	}
	return low + (rank-math.Floor(rank))*(high-low)
}
