package gp

import "math"

// Prior is what is believed of a kernel before anything was seen: each parameter is log-normal. It
// keeps length scales from collapsing where few points explain nothing, and from growing without
// end where a dimension has no effect.
type Prior struct {
	Scale, Variance, Noise LogNormal
	LeastNoise             float64 // is added to the noise: what keeps the covariance positive definite
}

// LogNormal is a distribution whose logarithm has a mean and a standard deviation.
type LogNormal struct{ Mean, Deviation float64 }

// log is the logarithm of the density of the logarithm x, but for a constant, and its derivative.
func (l LogNormal) log(x float64) (value, slope float64) {
	z := (x - l.Mean) / l.Deviation
	return -z * z / 2, -z / l.Deviation
}

// DefaultPrior is for values with mean 0 and variance 1. Length scales grow with the square root of
// the number of dimensions, as distances do: Hvarfner et al. 2024, arXiv:2402.02229. Its numbers
// are those that searched best of some that were tried; little depends on them.
func DefaultPrior(dimensions int) Prior {
	return Prior{
		Scale:      LogNormal{Mean: -0.7 + math.Log(float64(max(dimensions, 1)))/2, Deviation: 0.6},
		Variance:   LogNormal{Mean: 0, Deviation: 1.5},
		Noise:      LogNormal{Mean: math.Log(1e-4), Deviation: 2},
		LeastNoise: 1e-7,
	}
}
