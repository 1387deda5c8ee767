package example_test

import (
	"math/rand/v2"

	"github.com/stoker-ml/stoker/compute/data/example"
)

// sequenceSpec has each kind plain and in lists, with and without shapes, and a name that is both.
func sequenceSpec() example.Spec {
	return example.Spec{
		{Name: "b", Kind: example.Bytes},
		{Name: "bs", Kind: example.Bytes, Sequence: true},
		{Name: "bs2", Kind: example.Bytes, Shape: []int{2}, Sequence: true, AllowMissing: true},
		{Name: "f", Kind: example.Float, Shape: []int{2}},
		{Name: "fs", Kind: example.Float, Shape: []int{}, Sequence: true},
		{Name: "i", Kind: example.Int64, Shape: []int{}, Default: &example.Default{}},
		{Name: "i", Kind: example.Int64, Sequence: true},
		{Name: "is23", Kind: example.Int64, Shape: []int{2, 3}, Sequence: true, AllowMissing: true},
	}
}

// sequenceGen makes records for sequenceSpec. With faults, some have something that TensorFlow
// refuses, or may refuse.
type sequenceGen struct {
	*rand.Rand
	faults bool
}

func (g sequenceGen) fault() bool { return g.faults && g.IntN(25) == 0 }

// there returns whether a feature that may be absent is present.
func (g sequenceGen) there() bool { return g.IntN(4) > 0 }

func (g sequenceGen) floats(n int) []float32 {
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(g.NormFloat64())
	}
	return values
}

func (g sequenceGen) ints(n int) []int64 {
	values := make([]int64, n)
	for i := range values {
		values[i] = g.Int64() >> g.IntN(64) * (1 - 2*g.Int64N(2))
	}
	return values
}

func (g sequenceGen) words(n int) [][]byte {
	values := make([][]byte, n)
	for i := range values {
		values[i] = []byte("ab\xff\x00é"[:g.IntN(7)])
	}
	return values
}

// off returns n, or with a fault another number.
func (g sequenceGen) off(n int) int {
	if g.fault() {
		return g.IntN(4)
	}
	return n
}

func stepsOf[T any](g sequenceGen, one func() []T) [][]T {
	steps := make([][]T, g.IntN(4))
	for i := range steps {
		steps[i] = one()
	}
	return steps
}

func (g sequenceGen) record() []byte {
	var b example.Builder
	if g.there() {
		b.Bytes("b", g.words(g.IntN(3))...)
	}
	if !g.fault() {
		b.Float("f", g.floats(g.off(2))...)
	}
	if g.there() {
		b.Int64("i", g.ints(g.off(1))...)
	}
	if g.fault() {
		b.String("i", "not a number")
	}
	b.Float("unknown", g.floats(3)...)
	if g.there() {
		b.BytesSteps("bs", stepsOf(g, func() [][]byte { return g.words(g.IntN(3)) })...)
	}
	if g.there() {
		b.BytesSteps("bs2", stepsOf(g, func() [][]byte { return g.words(g.off(2)) })...)
	}
	if !g.fault() {
		b.FloatSteps("fs", stepsOf(g, func() []float32 { return g.floats(g.off(1)) })...)
	}
	if g.there() {
		b.Int64Steps("i", stepsOf(g, func() []int64 { return g.ints(g.IntN(3)) })...)
	}
	if g.there() {
		b.Int64Steps("is23", stepsOf(g, func() []int64 { return g.ints(g.off(6)) })...)
	}
	if g.fault() {
		b.FloatSteps("i", g.floats(1))
	}
	b.Int64Steps("unknown", g.ints(1))
	return b.Build()
}
