package gp

import "gonum.org/v1/gonum/blas/blas64"

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
