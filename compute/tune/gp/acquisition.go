package gp

import "math"

// LogImprovement returns the logarithm of the expected improvement on best, for values that are
// minimized, and its derivatives by mean and deviation. The logarithm has slopes even where the
// improvement itself rounds to 0.
//
//	log EI = log σ + log h(z),  z = (best - mean)/σ,  h(z) = φ(z) + z Φ(z)
//
// (Ament et al. 2023, arXiv:2310.20708 eq. 8, 9)
//
//	∂/∂mean = -Φ/(σ h),  ∂/∂σ = φ/(σ h)
func LogImprovement(mean, deviation, best float64) (value, byMean, byDeviation float64) {
	z := (best - mean) / deviation
	logH, phi, cdf := logImprovement(z)
	return math.Log(deviation) + logH, -cdf / deviation, phi / deviation
}

// logImprovement returns log h(z), φ(z)/h(z) and Φ(z)/h(z). Below -1 both terms of h nearly cancel:
// there it is written by the scaled complement of the error function, erfcx(t) = exp(t²) erfc(t),
// with t = -z/√2:
//
//	h(z) = φ(z) (1 + z √(π/2) erfcx(t))
//
// and where that rounds to nothing too, by its series 1 + z √(π/2) erfcx(t) = 1/z² - 3/z⁴ + 15/z⁶ -
// ...
func logImprovement(z float64) (logH, phi, cdf float64) {
	density := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
	if z > -1 {
		below := math.Erfc(-z/math.Sqrt2) / 2
		h := density + z*below
		return math.Log(h), density / h, below / h
	}
	ratio, share := tail(z)
	return -z*z/2 - math.Log(2*math.Pi)/2 + math.Log(share), 1 / share, ratio / share
}

// tail returns Φ(z)/φ(z) and h(z)/φ(z) = 1 + z Φ(z)/φ(z) for z of -1 and below.
func tail(z float64) (ratio, share float64) {
	if z > -25 {
		ratio = math.Sqrt(math.Pi/2) * math.Exp(z*z/2) * math.Erfc(-z/math.Sqrt2)
		return ratio, 1 + z*ratio
	}
	z2 := z * z
	share = (1 - 3/z2*(1-5/z2*(1-7/z2*(1-9/z2)))) / z2
	return (share - 1) / z, share
}

// LowerBound returns the confidence bound of a value that is minimized: -(mean - beta σ), with its
// derivatives. It is KerasTuner's acquisition; Srinivas et al. 2010, arXiv:0912.3995.
func LowerBound(mean, deviation, beta float64) (value, byMean, byDeviation float64) {
	return beta*deviation - mean, -1, beta
}

// LogFeasible returns the logarithm of the probability that a value is at most bound, and its
// derivatives: Gardner et al. 2014.
//
//	log Φ(z),  z = (bound - mean)/σ
func LogFeasible(mean, deviation, bound float64) (value, byMean, byDeviation float64) {
	z := (bound - mean) / deviation
	var ratio float64 // φ/Φ
	if z > -1 {
		below := math.Erfc(-z/math.Sqrt2) / 2
		value, ratio = math.Log(below), math.Exp(-z*z/2)/math.Sqrt(2*math.Pi)/below
	} else {
		inverse, _ := tail(z)
		value, ratio = -z*z/2-math.Log(2*math.Pi)/2+math.Log(inverse), 1/inverse
	}
	return value, -ratio / deviation, -ratio * z / deviation
}
