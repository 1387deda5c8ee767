package schemagen_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/stoker-ml/stoker/compute/data/example"
)

// inferCase is an input that TensorFlow Data Validation is also given (testdata/tfdv.py).
type inferCase struct {
	Splits [][][]byte `json:"splits"` // of records
	Shape  bool       `json:"shape"`
	Domain int        `json:"domain"`

	Sequence bool `json:"sequence"` // records are tf.SequenceExamples
}

// inferCases returns random records of features that each follow one habit, in up to three splits.
// They are the same each time.
func inferCases() []inferCase {
	var all []inferCase
	for seed := range 60 {
		g := rand.New(rand.NewPCG(uint64(seed), 15))
		c := inferCase{Shape: seed%4 != 3, Domain: []int{100, 100, 3, 0}[seed/15]}
		for split := range 1 + seed%3 {
			var records [][]byte
			for range 1 + g.IntN(12) {
				records = append(records, inferRecord(g, split))
			}
			c.Splits = append(c.Splits, records)
		}
		all = append(all, c)
	}
	return append(all, sequenceCases()...)
}

// sequenceCases returns random tf.SequenceExamples in up to three splits. They are the same each
// time.
func sequenceCases() []inferCase {
	var all []inferCase
	for seed := range 90 {
		g := rand.New(rand.NewPCG(uint64(seed), 16))
		c := inferCase{Shape: seed%4 != 3, Domain: []int{100, 100, 3, 0}[seed%13%4], Sequence: true}
		for split := range 1 + seed%3 {
			habit := sequenceHabit{split: split, steps: 1 + g.IntN(3), without: g.IntN(7) == 0, kind: g.IntN(9)}
			var records [][]byte
			for range 1 + g.IntN(8) {
				records = append(records, habit.record(g))
			}
			c.Splits = append(c.Splits, records)
		}
		all = append(all, c)
	}
	return all
}

// sequenceHabit has the common properties of the records of a split.
type sequenceHabit struct {
	split, steps int
	without      bool // feature_lists
	kind         int  // of the feature list that has another one in some splits
}

func (h sequenceHabit) record(g *rand.Rand) []byte {
	var b example.Builder
	b.Int64("id", g.Int64N(9))
	if g.IntN(3) > 0 {
		b.String("same name", inferWords[g.IntN(len(inferWords)-4)])
	}
	if h.without {
		return b.Build()
	}
	lengths := func(n, from, to int) []int { // of n steps; -1 is a step without a kind
		all := make([]int, n)
		for i := range all {
			all[i] = from + g.IntN(to-from)
		}
		return all
	}
	ints := func(name string, from, to int64, lengths []int) {
		steps := make([][]int64, len(lengths))
		for i, n := range lengths {
			for range n {
				steps[i] = append(steps[i], from+g.Int64N(to-from))
			}
		}
		b.Int64Steps(name, steps...)
	}
	words := func(name string, from, to int, lengths []int) {
		steps := make([][][]byte, len(lengths))
		for i, n := range lengths {
			for range n {
				steps[i] = append(steps[i], []byte(inferWords[from+g.IntN(to-from)]))
			}
		}
		b.BytesSteps(name, steps...)
	}
	any := func() int { return g.IntN(4) }
	ints("fixed", 0, 2, lengths(h.steps, 2, 3))
	ints("product", 3, 9, lengths(1+h.split, 2-min(h.split, 1), 3-min(h.split, 1)))
	words("one a step", 8, 10, lengths(any(), 1, 2))
	words("ragged", 14, len(inferWords), lengths(any(), 0, 4))
	words("same name", 16, len(inferWords), lengths(1+any(), 1, 3))
	words("bools", 0, 2, lengths(2, 1, 2))
	b.UnsetSteps("unset", any())
	b.FloatSteps("empty")
	if g.IntN(10) > h.split {
		b.FloatSteps("often", make([][]float32, 2)...)
	}
	if g.IntN(2) == 0 {
		words("it's.odd", 0, len(inferWords), lengths(1, 1, 2))
		words("(standard)", 17, 19, lengths(1, 1, 2))
	}
	if g.IntN(3) == 0 {
		b.UnsetSteps("sometimes", 1+any())
	} else {
		ints("sometimes", -1, 2, lengths(any(), 0, 3))
	}
	if h.split > 0 {
		ints("new", 0, 5, lengths(1, 1, 2))
		if g.IntN(8) == 0 {
			b.UnsetSteps("fixed", 2)
		}
	}
	if h.kind == 0 {
		b.UnsetSteps("of any kind", 1)
	} else if h.kind == 1 {
		words("of any kind", 0, 3, lengths(2, 1, 2))
	} else {
		ints("of any kind", 0, 2, lengths(1, 1, 2))
	}
	return b.Build()
}

var inferWords = []string{"true", "false", "TRUE", "0", "1", "", "set", "clear", " 12", "-7 ", "+3", "99999999999999999999", "0x1", "1_0", "ä\n\"'\\", "\xff", "word", "zeta", "Alpha"}

// inferRecord returns a record with features named by their habits. From the second split on some
// deviate.
func inferRecord(g *rand.Rand, split int) []byte {
	var b example.Builder
	words := func(from, to, n int) []string {
		var some []string
		for range n {
			some = append(some, inferWords[from+g.IntN(to-from)])
		}
		return some
	}
	stray := split > 0 && g.IntN(8) == 0
	add := func(name string, present, values int, put func(name string, n int)) {
		if g.IntN(100) < present {
			put(name, values)
		}
	}
	ints := func(from, to int64) func(string, int) {
		return func(name string, n int) {
			values := make([]int64, n)
			for i := range values {
				values[i] = from + g.Int64N(to-from)
			}
			b.Int64(name, values...)
		}
	}
	strings := func(from, to int) func(string, int) {
		return func(name string, n int) { b.String(name, words(from, to, n)...) }
	}
	floats := func(name string, n int) { b.Float(name, make([]float32, n)...) }
	add("always", 100, 1, floats)
	add("pair", 100, 2, floats)
	if split < 2 {
		add("mostly", 80, 1, floats)
	} else {
		add("mostly", 80, 1, ints(0, 3))
	}
	add("some_values", 100, 1+g.IntN(3), ints(-5, 5))
	add("maybe_values", 90, g.IntN(3), ints(0, 9))
	add("bit", 100, 1, ints(0, 2))
	add("zero", 100, 1, ints(0, 1))
	add("empty_ints", 100, 0, ints(0, 1))
	add("empty_words", 50, 0, strings(0, 1))
	add("bool_words", 100, 1, strings(0, 2))
	add("bool_digits", 70, 1, strings(3, 5))
	add("two_trues", 100, 1, strings(4, 6))
	add("integers", 100, 1, strings(8, 11))
	add("large_integers", 100, 1, strings(10, 12))
	add("odd_integers", 100, 1, strings(11, 14))
	add("odd_words", 100, 1, strings(14, 16))
	add("words", 100, g.IntN(3), strings(14, len(inferWords)))
	add("it's.odd", 90, 1, strings(16, len(inferWords)))
	add("(standard)", 90, 1, strings(16, len(inferWords)))
	for i, put := range []func(string, int){ints(0, 2), strings(8, 11), strings(0, 2), ints(-2, 4), strings(0, 2), strings(16, 17), ints(0, 2)} {
		if i >= split && i < split+4 { // another kind in each split
			add(fmt.Sprint("kinds", i-split), 95, 1, put)
		}
	}
	add("plain", 100, 1, strings(16, len(inferWords)))
	add("many", 100, 3, func(name string, n int) {
		for i := range n {
			b.String(name, fmt.Sprint("w", g.IntN(40)), fmt.Sprint("v", i))
		}
	})
	if stray {
		ints(-3, 7)("bit", 1)
		floats("always", 2)
		strings(5, 8)("bool_words", 1)
		strings(14, 17)("integers", 2)
		floats("new", 1)
	}
	return b.Build()
}
