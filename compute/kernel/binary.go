package kernel

import "math"

// Binary is a function of two elements.
type Binary int

// The functions of two elements. Comparisons give 1 if they hold, else 0.
const (
	Add Binary = iota
	Sub
	Mul
	Div
	Max // NaN if either is; of two zeros either may result
	Min // like Max
	Pow // math.Pow of the exact numbers
	Gt
	Gte
	Lt
	Lte
	Eq
	Ne
)

// Of returns f(x, y), which defines the results of Combine.
func (f Binary) Of(x, y float32) float32 {
	switch f {
	case Add:
		return x + y
	case Sub:
		return x - y
	case Mul:
		return x * y
	case Div:
		return x / y
	case Max:
		return max(x, y)
	case Min:
		return min(x, y)
	case Pow:
		return float32(math.Pow(float64(x), float64(y)))
	}
	if f.holds(x, y) {
		return 1
	}
	return 0
}

func (f Binary) holds(x, y float32) bool {
	switch f {
	case Gt:
		return x > y
	case Gte:
		return x >= y
	case Lt:
		return x < y
	case Lte:
		return x <= y
	case Eq:
		return x == y
	case Ne:
		return x != y
	}
	panic("kernel: no such function of two elements")
}

// Shape is how the second operand of Combine broadcasts over the first, [rows, cols].
type Shape int

// The shapes.
const (
	Full   Shape = iota // [rows, cols]
	Row                 // [cols]: the same for each row
	Column              // [rows]: the same along a row
	Scalar              // [1]
)

// of returns the fastest equivalent shape for this number of rows and columns.
func (s Shape) of(rows, cols int) Shape {
	switch {
	case s == Row && rows == 1, s == Column && cols == 1:
		return Full
	case s == Row && cols == 1, s == Column && rows == 1:
		return Scalar
	}
	return s
}

// len returns the number of elements of a second operand.
func (s Shape) len(rows, cols int) int {
	switch s {
	case Row:
		return cols
	case Column:
		return rows
	case Scalar:
		return 1
	}
	return rows * cols
}
