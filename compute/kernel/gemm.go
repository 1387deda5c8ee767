package kernel

// Matrix is Rows x Cols numbers, row major: element (r, c) is Data[r*Stride+c].
type Matrix struct {
	Data               []float32
	Rows, Cols, Stride int
}

// NewMatrix is a Matrix without gaps.
func NewMatrix(data []float32, rows, cols int) Matrix { return Matrix{data, rows, cols, cols} }

// Product says how Gemm multiplies.
type Product struct {
	TransA, TransB bool      // take the operand's transpose
	Add            bool      // add to c instead of writing over it; then Bias is nil and Then is Identity
	Bias           []float32 // [c.Cols], added to each row; nil for none
	Then           Func      // of each element of the sum
}

// Gemm is c = Then(op(a) op(b) + Bias), or c += op(a) op(b). c must not overlap a or b.
func (t *Team) Gemm(c, a, b Matrix, p Product) {
	gemmPortable(c, a, b, p)
}

// gemmPortable sums along k in its order.
func gemmPortable(c, a, b Matrix, p Product) {
	k := a.Cols
	if p.TransA {
		k = a.Rows
	}
	for r := range c.Rows {
		row := c.Data[r*c.Stride : r*c.Stride+c.Cols]
		for j := range row {
			sum := float32(0)
			for i := range k {
				x, y := a.at(r, i, p.TransA), b.at(i, j, p.TransB)
				sum += x * y
			}
			if p.Bias != nil {
				sum += p.Bias[j]
			}
			if p.Add {
				row[j] += sum
			} else {
				row[j] = p.Then.Of(sum)
			}
		}
	}
}

func (m Matrix) at(r, c int, transposed bool) float32 {
	if transposed {
		r, c = c, r
	}
	return m.Data[r*m.Stride+c]
}
