package space

import "math"

// same says whether two values are equal as Python has it: 1, 1.0 and true are, since a Choice of
// truths is kept as ones and noughts.
func same(a, b any) bool {
	text, isText := a.(string)
	other, otherIsText := b.(string)
	if isText || otherIsText {
		return isText && otherIsText && text == other
	}
	if x, ok := a.(int64); ok {
		if y, ok := b.(int64); ok {
			return x == y // beyond 2^53 too
		}
	}
	return toFloat(a) == toFloat(b)
}

// oneOf says whether a value is among others.
func oneOf(value any, others []any) bool { return position(value, others) >= 0 }

// position is where a value stands among others; -1 if it doesn't.
func position(value any, others []any) int {
	for i, other := range others {
		if same(value, other) {
			return i
		}
	}
	return -1
}

// index is where a value stands among a Choice's: for none of them, where the default does.
func (p Parameter) index(value any) int {
	if i := position(value, p.Choices); i >= 0 {
		return i
	}
	return max(position(p.Default, p.Choices), 0)
}

// toFloat is a number or a truth as a float; not a number for anything else.
func toFloat(value any) float64 {
	switch v := value.(type) {
	case int64:
		return float64(v)
	case int:
		return float64(v)
	case float64:
		return v
	case bool:
		if v {
			return 1
		}
		return 0
	default:
		return math.NaN()
	}
}
