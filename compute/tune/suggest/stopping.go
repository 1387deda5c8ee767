package suggest

import (
	"math"
	"slices"

	"github.com/stoker-ml/stoker/compute/tune"
)

// Stop reports whether a running trial should end early, because its curve of the objective so far
// is worse than those of others at the same step (Golovin et al., KDD 2017). A curve counts with
// its best value up to the step; if trials are judged by folds, with its last one, the mean over
// these folds. With the median rule a trial continues while it is as good as the median of the
// completed trials that had reported by then, with the percentile rule while it is among the best
// so many percent of them. A trial that was stopped at an earlier step counts with
// its value then; otherwise the rule would become stricter with each trial that it stops. NaN is
// worse than any number.
//
// Trials with several objectives are never stopped, because being worse in one is not a reason.
func Stop(s *tune.Study, trial *tune.Trial, curve []tune.Point) bool {
	rule := s.Config.Stopping
	if rule.Rule == "" || len(s.Config.Objectives) != 1 || len(curve) == 0 {
		return false
	}
	objective := s.Config.Objectives[0]
	step := curve[len(curve)-1].Step
	others := judgedBy(s, trial, objective, step)
	if step < rule.MinStep || len(others) < max(rule.MinTrials, 1) {
		return false
	}
	share := rule.Percentile / 100
	if rule.Rule == tune.Median {
		share = 0.5
	}
	return judgedUpTo(s.Config, objective, curve, step) > quantile(others, share)
}

// judgedBy returns, for each completed trial that had reported by a step, the value by which its
// curve until then is judged, negated if more is better.
func judgedBy(s *tune.Study, but *tune.Trial, objective tune.Objective, step int) (values []float64) {
	for _, t := range s.Trials {
		curve := t.Curves[objective.Name]
		if t.Status != tune.Completed || t.ID == but.ID || len(curve) == 0 || curve[0].Step > step {
			continue
		}
		values = append(values, judgedUpTo(s.Config, objective, curve, step))
	}
	return values
}

// judgedUpTo returns the value by which a curve up to a step is judged, negated if more is better;
// +Inf if none is a number.
func judgedUpTo(c tune.Config, objective tune.Objective, curve []tune.Point, step int) float64 {
	until := slices.IndexFunc(curve, func(p tune.Point) bool { return p.Step > step })
	if until < 0 {
		until = len(curve)
	}
	best, there := c.Judged(objective, curve[:until])
	switch {
	case !there:
		return math.Inf(1)
	case objective.Direction == tune.Max:
		return -best.Value
	}
	return best.Value
}

// quantile returns the value below which a share of some values are: the value at rank share (n-1)
// of the sorted ones, interpolated between two ranks.
func quantile(values []float64, share float64) float64 {
	slices.Sort(values)
	rank := share * float64(len(values)-1)
	low, high := values[int(math.Floor(rank))], values[int(math.Ceil(rank))]
	if low == high || math.IsInf(high, 0) {
		return low // infinite ones can't be interpolated
	}
	return low + (rank-math.Floor(rank))*(high-low)
}
