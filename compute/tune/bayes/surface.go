package bayes

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-ml/stoker/compute/tune/gp"
)

// surface is how much points of the cube are worth trying: the logarithm of the expected
// improvement, or a bound, and that of the probability that all constraints hold.
type surface struct {
	objective   *gp.Predictor
	best        float64         // what is expected of the best; +Inf where none was allowed: then constraints alone count
	beta        float64         // of the bound; 0: expected improvement
	doubt       float64         // how many times as large deviations count as the model says
	constraints []*gp.Predictor // of what they are exceeded by
	byMean      []float64
	byVariance  []float64
}

// surface is that of what was seen.
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
	objective, err := model(points, scores, pending, warp)
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

// doubt is 1, but 3 for each fourth trial: that one looks where the model, which knows nothing of
// how right its kernel is, is too sure. Of twenty searches that stayed at a local minimum of
// Hartmann's function, or with the wrong one of four choices, it got nearly all away.
func (s Search) doubt() float64 {
	if (len(s.Seen)+len(s.Pending))%4 == 3 {
		return 3
	}
	return 1
}

// least is what is expected of the best that was allowed. Pending trials count as if they had ended
// as expected: what is worth trying is what improves on them too.
func (s *surface) least(all []Seen, rows, pending [][]float64) float64 {
	least := math.Inf(1)
	for i, seen := range all {
		if !math.IsNaN(seen.Score) && seen.allowed() {
			mean, _ := s.objective.Mean(rows[i])
			least = min(least, mean)
		}
	}
	for _, x := range pending {
		broken := func(metric *gp.Predictor) bool {
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

// constrain adds a model for each constraint that something is known of.
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

// rough is an upper estimate of the value of a point, in time proportional to the number of trials:
// its variance is that which the nearest trial leaves.
func (s *surface) rough(x []float64) float64 { return s.value(x, (*gp.Predictor).Mean) }

// at is the value of a point.
func (s *surface) at(x []float64) float64 { return s.value(x, (*gp.Predictor).At) }

// value is that of a point of which a mean and a variance are predicted.
func (s *surface) value(x []float64, predict func(p *gp.Predictor, x []float64) (mean, variance float64)) (total float64) {
	if !math.IsInf(s.best, 1) {
		total, _, _ = s.worth(predict(s.objective, x))
	}
	for _, c := range s.constraints {
		value, _, _ := feasible(predict(c, x))
		total += value
	}
	return total
}

// slope is the value of a point and its derivatives.
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

// judge is a value and its derivatives by mean and deviation.
type judge func(mean, variance float64) (value, byMean, byDeviation float64)

func (s *surface) add(of *gp.Predictor, judge judge, x, gradient []float64) float64 {
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
