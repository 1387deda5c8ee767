package kernel

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// BLAS is gonum's BLAS, row major, with products of float32 by Gemm, in one thread each. It may be
// used concurrently. Its results are gonum's except for rounding, and except for a term that gonum
// skips: a zero times an infinity is NaN here.
type BLAS struct{ gonum.Implementation }

// Sgemm computes c = alpha op(a) op(b) + beta c, with op(a) m x k and op(b) k x n.
func (s BLAS) Sgemm(tA, tB blas.Transpose, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	x, xOK := blasMatrix(tA, a, m, k, lda)
	y, yOK := blasMatrix(tB, b, k, n, ldb)
	z, zOK := blasMatrix(blas.NoTrans, c, m, n, ldc)
	if !xOK || !yOK || !zOK || !blasSimple(alpha, beta) {
		s.Implementation.Sgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	(*ThreadPool)(nil).Gemm(z, x, y, Product{TransA: tA != blas.NoTrans, TransB: tB != blas.NoTrans, Add: beta == 1})
}

// Sgemv computes y = alpha op(a) x + beta y, with a m x n.
func (s BLAS) Sgemv(tA blas.Transpose, m, n int, alpha float32, a []float32, lda int, x []float32, incX int, beta float32, y []float32, incY int) {
	rows, terms := m, n
	if tA != blas.NoTrans {
		rows, terms = n, m
	}
	matrix, aOK := blasMatrix(tA, a, rows, terms, lda)
	from, xOK := blasMatrix(blas.NoTrans, x, terms, 1, incX)
	to, yOK := blasMatrix(blas.NoTrans, y, rows, 1, incY)
	if !aOK || !xOK || !yOK || !blasSimple(alpha, beta) {
		s.Implementation.Sgemv(tA, m, n, alpha, a, lda, x, incX, beta, y, incY)
		return
	}
	(*ThreadPool)(nil).Gemm(to, matrix, from, Product{TransA: tA != blas.NoTrans, Add: beta == 1})
}

// blasSimple reports whether the call is one that Gorgonia makes. All others are left to gonum, and
// so are the checks of arguments and their messages.
func blasSimple(alpha, beta float32) bool { return alpha == 1 && (beta == 0 || beta == 1) }

// blasMatrix returns data as a matrix whose op is rows x cols, if the lengths allow it.
func blasMatrix(op blas.Transpose, data []float32, rows, cols, stride int) (m Matrix, ok bool) {
	switch op {
	case blas.NoTrans:
	case blas.Trans, blas.ConjTrans:
		rows, cols = cols, rows
	default:
		return Matrix{}, false
	}
	ok = rows > 0 && cols > 0 && stride >= cols && len(data) >= (rows-1)*stride+cols
	return Matrix{data, rows, cols, stride}, ok
}
