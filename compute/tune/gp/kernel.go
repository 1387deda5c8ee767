package gp

import "math"

// Kernel says how much two points have to do with each other, and how loud the noise is.
//
//	k(x, x') = Variance (1 + √5 r + 5/3 r²) exp(-√5 r),  r² = Σ_d (Δ_d / Scales_d)²     (R&W eq. 4.17, ν = 5/2)
//
// Δ_d is x_d - x'_d; of a nominal dimension, whose values have no order, 0 for equal values and 1
// for others.
type Kernel struct {
	Scales   []float64 // length scale of each dimension
	Variance float64
	Noise    float64 // variance of what is seen around what is there
	Mean     float64 // far from all that was seen
}

// Points are places in the unit cube.
type Points struct {
	Rows    [][]float64
	Nominal []bool // of each dimension
}

// squared is Δ_d² of two values of a dimension.
func squared(nominal bool, a, b float64) float64 {
	if !nominal {
		return (a - b) * (a - b)
	}
	if a == b {
		return 0
	}
	return 1
}

// matern is the kernel without its variance as a function of r², and its derivative by r²:
//
//	m(r²) = (1 + √5 r + 5/3 r²) exp(-√5 r),  dm/dr² = -5/6 (1 + √5 r) exp(-√5 r)
func matern(r2 float64) (value, slope float64) {
	s := math.Sqrt(5 * r2)
	e := math.Exp(-s)
	return (1 + s + s*s/3) * e, -5. / 6 * (1 + s) * e
}

// distance is r² of two points.
func (k Kernel) distance(nominal []bool, a, b []float64) float64 {
	sum := 0.0
	for d, scale := range k.Scales {
		sum += squared(nominal[d], a[d], b[d]) / (scale * scale)
	}
	return sum
}
