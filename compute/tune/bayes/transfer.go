package bayes

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"

	"github.com/stoker-ml/stoker/compute/tune/gp"
)

// predictor predicts the value at a point; see gp.Predictor.
type predictor interface {
	Mean(x []float64) (mean, variance float64)
	At(x []float64) (mean, variance float64)
	Slope(x, byMean, byVariance []float64) (mean, variance float64)
}

// expectation is what older studies let expect at a point: a weighted sum of their predictions. The
// weights are 0 if they say nothing.
//
//	m(x) = b Σ_s w_s f̄_s(x)
//
// w_s is the Agreement of study s with this one. b, the slope of a regression of the results on the
// sum, gives it the scale of this study: not negative, and the smaller, the less it explains.
type expectation struct {
	of      []*gp.Predictor
	weights []float64 // b w_s
	slope   []float64 // scratch
	ignored []float64
}

// expect returns what older studies let expect, given results at points, which have a mean of 0.
func (s Search) expect(c cube, points [][]float64, y []float64) (e expectation, err error) {
	sum := make([]float64, len(y))
	for i, study := range s.Earlier {
		from, err := sourceOf(c, study)
		if err != nil {
			return e, fmt.Errorf("older study %d: %w", i+1, err)
		}
		predicted := make([]float64, len(y))
		for k, x := range points {
			predicted[k], _ = from.Mean(x)
		}
		weight := Agreement(predicted, y)
		if weight == 0 {
			continue
		}
		e.of, e.weights = append(e.of, from), append(e.weights, weight)
		for k := range sum {
			sum[k] += weight * predicted[k]
		}
	}
	if len(e.of) == 0 {
		return e, nil
	}
	_, b := stat.LinearRegression(sum, y, nil, false)
	if b = max(b, 0); math.IsNaN(b) || math.IsInf(b, 0) {
		b = 0
	}
	for i := range e.weights {
		e.weights[i] *= b
	}
	e.slope, e.ignored = make([]float64, len(c.parameters)), make([]float64, len(c.parameters))
	return e, nil
}

// sourceOf returns the model of an older study.
func sourceOf(c cube, study []Seen) (*gp.Predictor, error) {
	points, scores := gp.Points{Nominal: c.nominal}, make([]float64, len(study))
	for i, seen := range study {
		points.Rows, scores[i] = append(points.Rows, c.of(seen.Values).point), seen.Score
	}
	return model(points, scores, nil, warp)
}

// Agreement is how much predictions say about the order of results: their rank correlation, less
// its standard deviation if there were no relation, because chance alone gives as much; and never
// less than 0. The correlation is Kendall's τ-a: a pair whose predictions or results are equal
// counts for nothing.
//
//	max(0, τ - √(2 (2n+5) / (9n (n-1))))
//	τ = (pairs in order - pairs out of order) / (n (n-1) / 2)
func Agreement(predicted, results []float64) float64 {
	sum := 0
	for i := range results {
		for j := range i {
			switch product := (predicted[i] - predicted[j]) * (results[i] - results[j]); {
			case product > 0:
				sum++
			case product < 0:
				sum--
			}
		}
	}
	n := float64(len(results))
	if n < 2 {
		return 0
	}
	return max(0, float64(sum)/(n*(n-1)/2)-math.Sqrt(2*(2*n+5)/(9*n*(n-1))))
}

// mean returns m(x).
func (e expectation) mean(x []float64) (mean float64) {
	for i, study := range e.of {
		value, _ := study.Mean(x)
		mean += e.weights[i] * value
	}
	return mean
}

// informed predicts the value at a point as the sum of what older studies let expect and what a
// process predicts for the difference.
type informed struct {
	*gp.Predictor
	expectation
}

func (p informed) Mean(x []float64) (mean, variance float64) {
	mean, variance = p.Predictor.Mean(x)
	return mean + p.mean(x), variance
}

func (p informed) At(x []float64) (mean, variance float64) {
	mean, variance = p.Predictor.At(x)
	return mean + p.mean(x), variance
}

func (p informed) Slope(x, byMean, byVariance []float64) (mean, variance float64) {
	mean, variance = p.Predictor.Slope(x, byMean, byVariance)
	for i, study := range p.of {
		value, _ := study.Slope(x, p.slope, p.ignored)
		mean += p.weights[i] * value
		for d, slope := range p.slope {
			byMean[d] += p.weights[i] * slope
		}
	}
	return mean, variance
}
