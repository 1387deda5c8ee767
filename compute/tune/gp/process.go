package gp

import (
	"fmt"

	"gonum.org/v1/gonum/mat"
)

// Process is a Gaussian process that has seen points. Values come later, by Observe, and may come
// again: what is sure at a point does not depend on them.
type Process struct {
	kernel Kernel
	points Points
	chol   *mat.Cholesky
	alpha  []float64 // K⁻¹ (y-μ)
}

// New is a process that has seen points.
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

// Add is the process that has seen one point more, in O(n²).
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

// Len is how many points it has seen.
func (p *Process) Len() int { return len(p.points.Rows) }

// Observe is the process to which these are the values of its points.
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

// Believe is the process that has seen one point more, and there what it expects: its mean stays
// what it is everywhere, since the weight α of such a point is 0, and its variance shrinks.
func (p *Process) Believe(x []float64) (*Process, error) {
	more, err := p.Add(x)
	if err != nil {
		return nil, err
	}
	more.alpha = append(p.alpha[:len(p.alpha):len(p.alpha)], 0)
	return more, nil
}
