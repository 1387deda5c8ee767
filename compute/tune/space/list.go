package space

import (
	"iter"
	"math"
	"slices"
)

// Count returns how many values a parameter has; 0 if their number is infinite.
func (p Parameter) Count() int {
	switch p.Kind {
	case Int:
		if n := p.steps(); n > 0 {
			return n
		}
		return int(min(p.Max-p.Min, math.MaxInt32)) + 1
	case Float:
		return p.steps()
	case Choice:
		return len(p.Choices)
	case Boolean:
		return 2
	default:
		return 1
	}
}

// gridPlaces is how many values a grid takes from a parameter without steps, at the places 0.05,
// 0.15 ... 0.95.
const gridPlaces = 10

// List returns the values that a grid tries for a parameter: all of them, or for an Int or a Float
// without steps ten that are spread evenly on its scale. They are KerasTuner's, but in ascending
// order, where KerasTuner has the order of a set. True comes before false, and choices in the order
// in which they were given.
func (p Parameter) List() []any { return slices.Collect(p.Grid()) }

// Grid iterates over List, which would be too long for an Int up to 2^31.
func (p Parameter) Grid() iter.Seq[any] {
	switch p.Kind {
	case Int, Float:
		return p.numbers
	case Choice:
		return slices.Values(p.Choices)
	case Boolean:
		return slices.Values([]any{true, false})
	default:
		return slices.Values([]any{p.Fixed})
	}
}

// numbers iterates over the values of an Int or a Float, without duplicates. Steps on a reverse_log
// scale go down from the maximum.
func (p Parameter) numbers(yield func(any) bool) {
	n, down := p.steps(), p.Sampling == ReverseLog
	if n == 0 {
		n, down = gridPlaces, false
	}
	var last any
	for i := range n {
		if down {
			i = n - 1 - i
		}
		value := p.At(middle(i, n))
		if last != nil && same(value, last) {
			continue
		}
		if last = value; !yield(value) {
			return
		}
	}
}

// each iterates over every value of a parameter that has finitely many.
func (p Parameter) each() iter.Seq[any] {
	return func(yield func(any) bool) {
		for i := range p.Count() {
			if !yield(p.nth(i)) {
				return
			}
		}
	}
}

// nth returns value i of Count.
func (p Parameter) nth(i int) any {
	if p.Kind == Int && p.steps() == 0 {
		return int64(p.Min) + int64(i)
	}
	return p.At(middle(i, p.Count()))
}
