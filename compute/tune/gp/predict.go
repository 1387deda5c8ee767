package gp

import (
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// Predictor computes predictions of a process. It is for one goroutine at a time.
type Predictor struct {
	process *Process
	upper   blas64.Triangular // Uᵀ U = K
	// The points, each dimension divided by its length scale unless it is nominal.
	rows    []float64
	weights []float64 // of a nominal dimension: 1/ℓ², else 0
	scaled  []float64
	column  []float64 // k(X, x)
	slopes  []float64 // Variance dm/dr² of each
	solved  []float64
}

// Predictor returns a predictor for a process that has observed values.
func (p *Process) Predictor() *Predictor {
	n, d := len(p.points.Rows), len(p.kernel.Scales)
	upper := p.chol.RawU().(mat.RawTriangular).RawTriangular()
	q := &Predictor{process: p, upper: upper, rows: make([]float64, 0, n*d), weights: make([]float64, d),
		scaled: make([]float64, d), column: make([]float64, n), slopes: make([]float64, n), solved: make([]float64, n)}
	for i, nominal := range p.points.Nominal {
		if nominal {
			q.weights[i] = 1 / (p.kernel.Scales[i] * p.kernel.Scales[i])
		}
	}
	for _, row := range p.points.Rows {
		q.scale(row)
		q.rows = append(q.rows, q.scaled...)
	}
	return q
}

func (q *Predictor) scale(x []float64) {
	for d, scale := range q.process.kernel.Scales {
		q.scaled[d] = x[d]
		if q.weights[d] == 0 {
			q.scaled[d] = x[d] / scale
		}
	}
}

// covary computes column and slopes for a point, and returns where the largest covariance is.
func (q *Predictor) covary(x []float64) (nearest int) {
	q.scale(x)
	d, variance := len(q.scaled), q.process.kernel.Variance
	least := math.Inf(1)
	for i := range q.column {
		row, r2 := q.rows[i*d:(i+1)*d], 0.0
		for j, value := range q.scaled {
			delta := row[j] - value
			switch weight := q.weights[j]; {
			case weight == 0:
				r2 += delta * delta
			case delta != 0:
				r2 += weight
			}
		}
		if r2 < least {
			least, nearest = r2, i
		}
		value, slope := matern(r2)
		q.column[i], q.slopes[i] = variance*value, variance*slope
	}
	return nearest
}

// Mean returns the expected value at a point, and an upper bound of its variance from its nearest
// neighbor alone, in O(n).
//
//	f̄ = μ + k(x, X) α                                                  (R&W eq. 2.25)
func (q *Predictor) Mean(x []float64) (mean, variance float64) {
	nearest := q.covary(x)
	k := q.process.kernel
	return k.Mean + dot(q.column, q.process.alpha), k.Variance - q.column[nearest]*q.column[nearest]/(k.Variance+k.Noise)
}

// At returns mean and variance, without noise, of the value at a point, in O(n²).
//
//	V = k(x, x) - k(x, X) K⁻¹ k(X, x) = k(x, x) - |U⁻ᵀ k(X, x)|²        (R&W eq. 2.26)
func (q *Predictor) At(x []float64) (mean, variance float64) {
	q.covary(x)
	k := q.process.kernel
	mean = k.Mean + dot(q.column, q.process.alpha)
	copy(q.solved, q.column)
	solveLower(q.upper, q.solved)
	return mean, math.Max(k.Variance-dot(q.solved, q.solved), leastVariance*k.Variance)
}

// leastVariance is the share of the variance that is kept if rounding would leave 0 or less.
const leastVariance = 1e-12

// Slope is At with the derivatives of both by each dimension. Those of nominal dimensions are 0.
//
//	∂f̄/∂x = α ∂k(X, x)/∂x,  ∂V/∂x = -2 K⁻¹ k(X, x) ∂k(X, x)/∂x
func (q *Predictor) Slope(x, byMean, byVariance []float64) (mean, variance float64) {
	mean, variance = q.At(x)
	solveUpper(q.upper, q.solved)
	clear(byMean)
	clear(byVariance)
	d := len(q.scaled)
	for i, slope := range q.slopes {
		a, b := 2*slope*q.process.alpha[i], -4*slope*q.solved[i]
		for j, value := range q.scaled {
			if q.weights[j] == 0 {
				delta := value - q.rows[i*d+j]
				byMean[j] += a * delta
				byVariance[j] += b * delta
			}
		}
	}
	for j, scale := range q.process.kernel.Scales {
		byMean[j] /= scale
		byVariance[j] /= scale
	}
	return mean, variance
}
