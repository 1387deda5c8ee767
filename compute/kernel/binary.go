package kernel

// Binary is a function of two elements.
type Binary int

// The functions of two elements. Comparisons are 1 where they hold, else 0.
const (
	Add Binary = iota
	Sub
	Mul
	Div
	Max // NaN if one of them is
	Min
	Pow
	Gt
	Gte
	Lt
	Lte
	Eq
	Ne
)

// Shape says how the second operand of Combine stands beside the first, [rows, cols].
type Shape int

// The shapes.
const (
	Full   Shape = iota // [rows, cols]
	Row                 // [cols]: the same for each row
	Column              // [rows]: the same along a row
	Scalar              // [1]
)

// Combine is z = f(x, y), or f(y, x) where swapped, with x and z [rows, cols] and y of the shape; z may be x, and y where it is Full.
func (t *Team) Combine(f Binary, z, x, y []float32, shape Shape, rows, cols int, swapped bool) {
	panic("kernel: not yet")
}
