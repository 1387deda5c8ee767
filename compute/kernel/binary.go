package kernel

import "math"

// Binary is a function of two elements.
type Binary int

// The functions of two elements. Comparisons are 1 where they hold, else 0.
const (
	Add Binary = iota
	Sub
	Mul
	Div
	Max // NaN if one of them is; which of two zeros is left open
	Min // as Max
	Pow // as math.Pow of the exact numbers
	Gt
	Gte
	Lt
	Lte
	Eq
	Ne
)

// Of is f(x, y), the meaning of all that Combine does.
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

// Shape says how the second operand of Combine broadcasts over the first, [rows, cols].
type Shape int

// The shapes.
const (
	Full   Shape = iota // [rows, cols]
	Row                 // [cols]: the same for each row
	Column              // [rows]: the same along a row
	Scalar              // [1]
)

// of is the shape that means the same for so many rows and columns, and is faster.
func (s Shape) of(rows, cols int) Shape {
	switch {
	case s == Row && rows == 1, s == Column && cols == 1:
		return Full
	case s == Row && cols == 1, s == Column && rows == 1:
		return Scalar
	}
	return s
}

// len is how many elements a second operand has.
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
