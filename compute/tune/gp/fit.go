package gp

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/optimize"
)

// Fit finds the kernel of the greatest posterior density, given values seen at points, by L-BFGS
// from the middle of the prior.
func Fit(points Points, y []float64, prior Prior) (Kernel, error) {
	if len(points.Rows) != len(y) || len(y) == 0 {
		return Kernel{}, fmt.Errorf("fit a Gaussian process: %d points and %d values", len(points.Rows), len(y))
	}
	value, kernel, ok := newLikelihood(points, y, prior).climb(middle(prior, len(points.Nominal)))
	if !ok || math.IsNaN(value) {
		return Kernel{}, fmt.Errorf("fit a Gaussian process to %d points: no kernel makes their covariance positive definite", len(y))
	}
	return kernel, nil
}

// middle returns where a fit begins: the middle of the prior, except that no length scale is longer
// than the cube.
func middle(prior Prior, dimensions int) []float64 {
	theta := make([]float64, dimensions+2)
	for d := range dimensions {
		theta[d] = min(prior.Scale.Mean, 0)
	}
	theta[dimensions], theta[dimensions+1] = prior.Variance.Mean, prior.Noise.Mean
	return theta
}

// climb climbs from parameters as far as it can.
func (l *likelihood) climb(theta []float64) (float64, Kernel, bool) {
	problem := optimize.Problem{
		Func: func(x []float64) float64 {
			value, _, ok := l.at(x, nil)
			return down(value, ok)
		},
		Grad: func(gradient, x []float64) {
			l.at(x, gradient)
			for i := range gradient {
				gradient[i] = -gradient[i]
			}
		},
	}
	settings := optimize.Settings{GradientThreshold: 1e-2, MajorIterations: 50, FuncEvaluations: 80,
		Converger: &optimize.FunctionConverge{Absolute: 1e-3, Iterations: 3}}
	// A line search that finds nothing better is an error to optimize, and the end of the climb
	// here.
	result, _ := optimize.Minimize(problem, theta, &settings, &optimize.LBFGS{})
	if result == nil {
		return l.at(theta, nil)
	}
	return l.at(result.X, nil)
}

// down converts a value to be maximized for a minimizer.
func down(value float64, ok bool) float64 {
	if !ok || math.IsNaN(value) {
		return math.Inf(1)
	}
	return -value
}
