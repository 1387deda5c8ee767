package space

import (
	"iter"
	"math"
	"slices"
)

// Count is how many values a parameter has; 0 where there is no end to them.
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

// gridPlaces are where a grid takes its values from a parameter without steps: 0.05, 0.15 ... 0.95.
const gridPlaces = 10

// List is what a grid tries of a parameter: all its values, of an Int or a Float without steps ten
// that lie evenly on its scale. They are KerasTuner's, but in ascending order where its are in that
// of a set. True comes before false, and choices in the order they were given.
func (p Parameter) List() []any { return slices.Collect(p.Grid()) }

// Grid goes through List, which would be too long for an Int up to 2^31.
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

// numbers goes through those of an Int or a Float, of equal ones through one. Steps on a
// reverse_log scale go down from the maximum.
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

// each goes through every value of a parameter that has an end of them.
func (p Parameter) each() iter.Seq[any] {
	return func(yield func(any) bool) {
		for i := range p.Count() {
			if !yield(p.nth(i)) {
				return
			}
		}
	}
}

// nth is one value of Count.
func (p Parameter) nth(i int) any {
	if p.Kind == Int && p.steps() == 0 {
		return int64(p.Min) + int64(i)
	}
	return p.At(middle(i, p.Count()))
}
