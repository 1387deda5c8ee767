package gp

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// likelihood is the logarithm of the posterior density of a kernel's parameters, given values seen
// at points:
//
//	L(θ) = -½ (y-μ)ᵀ K⁻¹ (y-μ) - ½ log|K| - n/2 log 2π + log p(θ)  (R&W eq. 5.8 with a prior)
//	∂L/∂θ = ½ tr((α αᵀ - K⁻¹) ∂K/∂θ) + ∂ log p/∂θ,  α = K⁻¹ (y-μ)           (R&W eq. 5.9)
//
// θ are logarithms: length scales, variance, noise above the minimum. For each θ, μ is the mean of
// the greatest density under a standard normal prior, so that the gradient does not depend on it.
type likelihood struct {
	points  Points
	y       []float64
	prior   Prior
	squares [][]float64 // of each dimension: Δ_d² of each pair i < j, row by row
	k       *mat.SymDense
	inverse *mat.SymDense
	slopes  []float64 // of each pair: Variance dm/dr²
	chol    mat.Cholesky
	alpha   *mat.VecDense
}

func newLikelihood(points Points, y []float64, prior Prior) *likelihood {
	n := len(y)
	l := &likelihood{points: points, y: y, prior: prior,
		k: mat.NewSymDense(n, nil), inverse: mat.NewSymDense(n, nil), slopes: make([]float64, n*(n-1)/2), alpha: mat.NewVecDense(n, nil)}
	for d, nominal := range points.Nominal {
		squares := make([]float64, 0, n*(n-1)/2)
		for i := range n {
			for j := i + 1; j < n; j++ {
				squares = append(squares, squared(nominal, points.Rows[i][d], points.Rows[j][d]))
			}
		}
		l.squares = append(l.squares, squares)
	}
	return l
}

// kernel returns the kernel of parameters θ, without its mean.
func (l *likelihood) kernel(theta []float64) Kernel {
	d := len(l.squares)
	k := Kernel{Scales: make([]float64, d), Variance: math.Exp(theta[d]), Noise: l.prior.LeastNoise + math.Exp(theta[d+1])}
	for i := range d {
		k.Scales[i] = math.Exp(theta[i])
	}
	return k
}

// at returns L(θ) and, if gradient is not nil, its derivatives; and the kernel with its mean. ok is
// false if K is not a covariance because of rounding.
func (l *likelihood) at(theta, gradient []float64) (value float64, kernel Kernel, ok bool) {
	kernel = l.kernel(theta)
	l.fill(kernel)
	if !l.chol.Factorize(l.k) {
		return 0, kernel, false
	}
	kernel.Mean = mean(&l.chol, l.y)
	residual := mat.NewVecDense(len(l.y), nil)
	for i, y := range l.y {
		residual.SetVec(i, y-kernel.Mean)
	}
	if err := l.chol.SolveVecTo(l.alpha, residual); err != nil {
		return 0, kernel, false
	}
	value = -mat.Dot(residual, l.alpha)/2 - l.chol.LogDet()/2 - float64(len(l.y))/2*math.Log(2*math.Pi) - kernel.Mean*kernel.Mean/2
	if gradient != nil {
		if err := l.chol.InverseTo(l.inverse); err != nil {
			return 0, kernel, false
		}
		l.differentiate(kernel, gradient)
	}
	return value + l.believe(theta, gradient), kernel, true
}

// mean returns μ of the greatest density: 1ᵀ K⁻¹ y / (1ᵀ K⁻¹ 1 + 1), the 1 for its prior.
func mean(chol *mat.Cholesky, y []float64) float64 {
	ones, weights := mat.NewVecDense(len(y), nil), mat.NewVecDense(len(y), nil)
	for i := range y {
		ones.SetVec(i, 1)
	}
	if err := chol.SolveVecTo(weights, ones); err != nil {
		return 0
	}
	return mat.Dot(weights, mat.NewVecDense(len(y), y)) / (mat.Sum(weights) + 1)
}

// fill computes K, and values that its derivatives share.
func (l *likelihood) fill(kernel Kernel) {
	n := len(l.y)
	clear(l.slopes)
	for d, scale := range kernel.Scales {
		weight := 1 / (scale * scale)
		for p, square := range l.squares[d] {
			l.slopes[p] += weight * square
		}
	}
	raw := l.k.RawSymmetric()
	p := 0
	for i := range n {
		row := raw.Data[i*raw.Stride:]
		row[i] = kernel.Variance + kernel.Noise
		for j := i + 1; j < n; j++ {
			value, slope := matern(l.slopes[p])
			row[j] = kernel.Variance * value
			l.slopes[p] = kernel.Variance * slope
			p++
		}
	}
}

// differentiate computes the traces. By the logarithm of a length scale, ∂k/∂log ℓ_d = Variance
// dm/dr² · -2 Δ_d²/ℓ_d²; by that of the variance it is k; by that of the noise above the minimum,
// it is this noise on the diagonal.
func (l *likelihood) differentiate(kernel Kernel, gradient []float64) {
	n, d := len(l.y), len(l.squares)
	clear(gradient)
	k, inverse, alpha := l.k.RawSymmetric(), l.inverse.RawSymmetric(), l.alpha.RawVector().Data
	trace, diagonal := 0.0, 0.0
	p := 0
	for i := range n {
		diagonal += alpha[i]*alpha[i] - inverse.Data[i*inverse.Stride+i]
		for j := i + 1; j < n; j++ {
			w := alpha[i]*alpha[j] - inverse.Data[i*inverse.Stride+j]
			trace += w * k.Data[i*k.Stride+j]
			// A pair counts twice, once on each side of the diagonal, and the trace has the factor
			// ½.
			l.slopes[p] *= w
			p++
		}
	}
	for i, scale := range kernel.Scales {
		sum := 0.0
		for p, square := range l.squares[i] {
			sum += l.slopes[p] * square
		}
		gradient[i] = -2 * sum / (scale * scale)
	}
	gradient[d] = trace + diagonal*kernel.Variance/2
	gradient[d+1] = diagonal * (kernel.Noise - l.prior.LeastNoise) / 2
}

// believe returns log p(θ), and adds its derivatives.
func (l *likelihood) believe(theta, gradient []float64) float64 {
	sum := 0.0
	for i, x := range theta {
		belief := l.prior.Scale
		switch i - len(l.squares) {
		case 0:
			belief = l.prior.Variance
		case 1:
			belief = l.prior.Noise
		}
		value, slope := belief.log(x)
		sum += value
		if gradient != nil {
			gradient[i] += slope
		}
	}
	return sum
}
