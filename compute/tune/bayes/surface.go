package bayes

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-ml/stoker/compute/tune/gp"
)

// surface gives the value of trying a point of the cube: the logarithm of the expected improvement,
// or a bound, plus the logarithm of the probability that all constraints hold.
type surface struct {
	objective predictor
	// Prediction for the best; +Inf if none satisfied the constraints, so that only these count.
	best        float64
	beta        float64     // for the bound; 0: expected improvement
	doubt       float64     // factor by which the model's deviations are increased
	constraints []predictor // of the constraints' violations
	byMean      []float64
	byVariance  []float64
}

// surface returns the surface that follows from the observations.
func (s Search) surface(c cube) (*surface, error) {
	all := recent(s.Seen)
	points, scores := gp.Points{Nominal: c.nominal}, make([]float64, len(all))
	for i, seen := range all {
		points.Rows = append(points.Rows, c.of(seen.Values).point)
		scores[i] = seen.Score
	}
	var pending [][]float64
	for _, values := range s.Pending {
		pending = append(pending, c.of(values).point)
	}
	objective, err := s.objective(c, points, scores, pending)
	if err != nil {
		return nil, fmt.Errorf("objective: %w", err)
	}
	d := len(c.parameters)
	made := &surface{objective: objective, beta: s.Beta, doubt: s.doubt(),
		byMean: make([]float64, d), byVariance: make([]float64, d)}
	if err := made.constrain(all, points, pending); err != nil {
		return nil, err
	}
	made.best = made.least(all, points.Rows, pending)
	return made, nil
}

// objective returns the model of the scores: that of their difference from what older studies let
// expect, if there are any.
func (s Search) objective(c cube, points gp.Points, scores []float64, pending [][]float64) (predictor, error) {
	if len(s.Earlier) == 0 {
		return model(points, scores, pending, warp)
	}
	known := beginning(len(scores)) // so that a kernel is fitted again no more often
	expected, err := s.expect(c, points.Rows[:known], warp(scores[:known]))
	if err != nil {
		return nil, err
	}
	if len(expected.of) == 0 {
		return model(points, scores, pending, warp)
	}
	difference := func(scores []float64) []float64 {
		warped := warp(scores)
		for i := range warped {
			warped[i] -= expected.mean(points.Rows[i])
		}
		return warped
	}
	process, err := model(points, scores, pending, difference)
	return informed{process, expected}, err
}

// doubt is 1, but 3 for each fourth trial: that trial searches where the model, which does not know
// how well its kernel fits, is too certain. Of twenty searches that stayed at a local minimum of
// Hartmann's function, or with the wrong one of four choices, it freed nearly all.
func (s Search) doubt() float64 {
	if (len(s.Seen)+len(s.Pending))%4 == 3 {
		return 3
	}
	return 1
}

// least returns the prediction for the best observation that satisfied the constraints. Pending
// trials count as if they had ended as predicted, because a new trial should improve on them too.
func (s *surface) least(all []Seen, rows, pending [][]float64) float64 {
	least := math.Inf(1)
	for i, seen := range all {
		if !math.IsNaN(seen.Score) && seen.allowed() {
			mean, _ := s.objective.Mean(rows[i])
			least = min(least, mean)
		}
	}
	for _, x := range pending {
		broken := func(metric predictor) bool {
			excess, _ := metric.Mean(x)
			return excess > 0
		}
		if !slices.ContainsFunc(s.constraints, broken) {
			mean, _ := s.objective.Mean(x)
			least = min(least, mean)
		}
	}
	return least
}

// constrain adds a model for each constraint that has observations.
func (s *surface) constrain(all []Seen, points gp.Points, pending [][]float64) error {
	if len(all) == 0 {
		return nil
	}
	for i := range all[0].Excess {
		known, excess := gp.Points{Nominal: points.Nominal}, []float64(nil)
		for j, seen := range all {
			if !math.IsNaN(seen.Excess[i]) {
				known.Rows = append(known.Rows, points.Rows[j])
				excess = append(excess, seen.Excess[i])
			}
		}
		if len(excess) == 0 {
			continue
		}
		metric, err := model(known, excess, pending, tame)
		if err != nil {
			return fmt.Errorf("constraint %d: %w", i, err)
		}
		s.constraints = append(s.constraints, metric)
	}
	return nil
}

// rough returns an upper estimate of the value of a point, in time proportional to the number of
// trials: its variance is the one that the nearest trial leaves.
func (s *surface) rough(x []float64) float64 { return s.value(x, predictor.Mean) }

// at returns the value of a point.
func (s *surface) at(x []float64) float64 { return s.value(x, predictor.At) }

// value returns the value of a point for which a mean and a variance are predicted.
func (s *surface) value(x []float64, predict func(p predictor, x []float64) (mean, variance float64)) (total float64) {
	if !math.IsInf(s.best, 1) {
		total, _, _ = s.worth(predict(s.objective, x))
	}
	for _, c := range s.constraints {
		value, _, _ := feasible(predict(c, x))
		total += value
	}
	return total
}

// slope returns the value of a point and its derivatives.
func (s *surface) slope(x, gradient []float64) float64 {
	clear(gradient)
	total := 0.0
	if !math.IsInf(s.best, 1) {
		total += s.add(s.objective, s.worth, x, gradient)
	}
	for _, c := range s.constraints {
		total += s.add(c, feasible, x, gradient)
	}
	return total
}

// judge returns a value and its derivatives by mean and deviation.
type judge func(mean, variance float64) (value, byMean, byDeviation float64)

func (s *surface) add(of predictor, judge judge, x, gradient []float64) float64 {
	mean, variance := of.Slope(x, s.byMean, s.byVariance)
	value, byMean, byDeviation := judge(mean, variance)
	for d := range gradient {
		gradient[d] += byMean*s.byMean[d] + byDeviation*s.byVariance[d]/(2*math.Sqrt(variance))
	}
	return value
}

func (s *surface) worth(mean, variance float64) (value, byMean, byDeviation float64) {
	if s.beta > 0 {
		return gp.LowerBound(mean, math.Sqrt(variance), s.beta)
	}
	value, byMean, byDeviation = gp.LogImprovement(mean, s.doubt*math.Sqrt(variance), s.best)
	return value, byMean, byDeviation * s.doubt
}

func feasible(mean, variance float64) (value, byMean, byDeviation float64) {
	return gp.LogFeasible(mean, math.Sqrt(variance), 0)
}
