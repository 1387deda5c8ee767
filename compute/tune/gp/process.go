package gp

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// Process is a Gaussian process with points. Their values are set later, by Observe, which may be
// repeated: the variance at a point does not depend on them.
type Process struct {
	kernel Kernel
	points Points
	chol   *mat.Cholesky
	alpha  []float64 // K⁻¹ (y-μ)
}

// New returns a process with points.
func New(kernel Kernel, points Points) (*Process, error) {
	n := len(points.Rows)
	k := mat.NewSymDense(n, nil)
	for i := range n {
		k.SetSym(i, i, kernel.Variance+kernel.Noise)
		for j := i + 1; j < n; j++ {
			value, _ := matern(kernel.distance(points.Nominal, points.Rows[i], points.Rows[j]))
			k.SetSym(i, j, kernel.Variance*value)
		}
	}
	p := &Process{kernel: kernel, points: points, chol: &mat.Cholesky{}}
	if !p.chol.Factorize(k) {
		return nil, fmt.Errorf("the covariance of %d points is not positive definite", n)
	}
	return p, nil
}

// Add returns the process with one more point, in O(n²).
func (p *Process) Add(x []float64) (*Process, error) {
	n := len(p.points.Rows)
	column := mat.NewVecDense(n+1, nil)
	for i, row := range p.points.Rows {
		value, _ := matern(p.kernel.distance(p.points.Nominal, row, x))
		column.SetVec(i, p.kernel.Variance*value)
	}
	column.SetVec(n, p.kernel.Variance+p.kernel.Noise)
	more := &Process{kernel: p.kernel, chol: &mat.Cholesky{},
		points: Points{Rows: append(p.points.Rows[:n:n], x), Nominal: p.points.Nominal}}
	if !more.chol.ExtendVecSym(p.chol, column) {
		return nil, fmt.Errorf("the covariance of %d points is not positive definite", n+1)
	}
	return more, nil
}

// Len returns the number of points.
func (p *Process) Len() int { return len(p.points.Rows) }

// Observe returns the process in which the points have these values.
func (p *Process) Observe(y []float64) (*Process, error) {
	residual := mat.NewVecDense(len(y), nil)
	for i := range y {
		residual.SetVec(i, y[i]-p.kernel.Mean)
	}
	alpha := mat.NewVecDense(len(y), nil)
	if err := p.chol.SolveVecTo(alpha, residual); err != nil {
		return nil, fmt.Errorf("solve for the values of %d points: %w", len(y), err)
	}
	seen := *p
	seen.alpha = alpha.RawVector().Data
	return &seen, nil
}

// Believe returns the process with one more point, which has the value that is expected there: its
// mean stays the same everywhere, because the weight α of such a point is 0, and its variance
// shrinks.
func (p *Process) Believe(x []float64) (*Process, error) {
	more, err := p.Add(x)
	if err != nil {
		return nil, err
	}
	more.alpha = append(p.alpha[:len(p.alpha):len(p.alpha)], 0)
	return more, nil
}

// Kernel defines the covariance of two points, and the noise.
//
//	k(x, x') = Variance (1 + √5 r + 5/3 r²) exp(-√5 r),  r² = Σ_d (Δ_d / Scales_d)²
//
// (R&W eq. 4.17, ν = 5/2)
//
// Δ_d is x_d - x'_d; for a nominal dimension, whose values have no order, it is 0 for equal values
// and 1 for others.
type Kernel struct {
	Scales   []float64 // length scale of each dimension
	Variance float64
	Noise    float64 // variance of observations around the true value
	Mean     float64 // expected value far from all points
}

// Points are points of the unit cube.
type Points struct {
	Rows    [][]float64
	Nominal []bool // whether the values of each dimension have no order
}

// squared returns Δ_d² of two values of a dimension.
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

// distance returns r² of two points.
func (k Kernel) distance(nominal []bool, a, b []float64) float64 {
	sum := 0.0
	for d, scale := range k.Scales {
		sum += squared(nominal[d], a[d], b[d]) / (scale * scale)
	}
	return sum
}

// Prior is the distribution of a kernel before any observation: each parameter is log-normal. It
// keeps length scales from collapsing if few points explain nothing, and from growing without limit
// if a dimension has no effect.
type Prior struct {
	Scale, Variance, Noise LogNormal
	// Added to the noise, which keeps the covariance positive definite.
	LeastNoise float64
}

// LogNormal is a distribution whose logarithm has a mean and a standard deviation.
type LogNormal struct{ Mean, Deviation float64 }

// log returns the logarithm of the density of the logarithm x, up to a constant, and its
// derivative.
func (l LogNormal) log(x float64) (value, slope float64) {
	z := (x - l.Mean) / l.Deviation
	return -z * z / 2, -z / l.Deviation
}

// DefaultPrior is for values with mean 0 and variance 1. Length scales grow with the square root of
// the number of dimensions, as distances do: Hvarfner et al. 2024, arXiv:2402.02229. Its numbers
// gave the best searches among some that were tried; the results depend little on them.
func DefaultPrior(dimensions int) Prior {
	return Prior{
		Scale:      LogNormal{Mean: -0.7 + math.Log(float64(max(dimensions, 1)))/2, Deviation: 0.6},
		Variance:   LogNormal{Mean: 0, Deviation: 1.5},
		Noise:      LogNormal{Mean: math.Log(1e-4), Deviation: 2},
		LeastNoise: 1e-7,
	}
}

// solveLower solves Uᵀ v = b in place, row by row of U: blas64.Trsv does the same, but without
// vector instructions.
//
//	v_i = b_i / u_ii,  b_j -= v_i u_ij for j > i
func solveLower(u blas64.Triangular, b []float64) {
	for i := range b {
		row := u.Data[i*u.Stride : i*u.Stride+u.N]
		b[i] /= row[i]
		blas64.Axpy(-b[i], vector(row[i+1:]), vector(b[i+1:]))
	}
}

// solveUpper solves U v = b in place.
//
//	v_i = (b_i - Σ_{j>i} u_ij v_j) / u_ii
func solveUpper(u blas64.Triangular, b []float64) {
	for i := len(b) - 1; i >= 0; i-- {
		row := u.Data[i*u.Stride : i*u.Stride+u.N]
		b[i] = (b[i] - dot(row[i+1:], b[i+1:])) / row[i]
	}
}

func dot(a, b []float64) float64 { return blas64.Dot(vector(a), vector(b)) }

func vector(of []float64) blas64.Vector { return blas64.Vector{N: len(of), Data: of, Inc: 1} }
