package space

import (
	"cmp"
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

// List is what a grid tries of a parameter: all its values, of an Int or a Float without steps ten that lie evenly on its scale. They are
// KerasTuner's, but in ascending order where its are in that of a set. True comes before false, and choices in the order they were given.
func (p Parameter) List() []any {
	switch p.Kind {
	case Int, Float:
		return p.numbers()
	case Choice:
		return slices.Clone(p.Choices)
	case Boolean:
		return []any{true, false}
	default:
		return []any{p.Fixed}
	}
}

// numbers lists those of an Int or a Float.
func (p Parameter) numbers() []any {
	n := p.steps()
	if n == 0 {
		n = gridPlaces
	}
	var list []any
	for i := range n {
		list = append(list, p.At(middle(i, n)))
	}
	slices.SortFunc(list, func(a, b any) int { return cmp.Compare(toFloat(a), toFloat(b)) })
	return slices.CompactFunc(list, same)
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
