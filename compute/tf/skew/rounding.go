package skew

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// The effect of rounding on an answer is measured by making each weight larger or smaller by
// roundedBy of itself, four units in the last place of a float32, several times: two right answers
// differ by at most roundingFactor times the change of the answer. A sum of n products of which
// each step is rounded is the exact sum of products whose weights are off by at most n units, and
// usually by about the root of n, in whatever order a kernel adds up. Graphs that compute much
// without weights are not covered.
const (
	roundedBy      = 4.0 / (1 << 24)
	roundedTimes   = 4
	roundingFactor = 4

	// maxRounding limits the tolerance for rounding, as a part of the size of the output: with a
	// larger one no difference would be found.
	maxRounding = 1e-2
)

// roundingOfAll is the effect of rounding for each question, output and row.
type roundingOfAll []map[string][]rounding

// rounding is its effect on one row of an output.
type rounding struct {
	distance float64 // at most, of the numbers that are finite
	other    bool    // a class, a word, or a number that is not finite has changed
}

// of returns the effect for one question.
func (r roundingOfAll) of(question int) map[string][]rounding {
	if question >= len(r) {
		return nil
	}
	return r[question]
}

// roundings repeats the calls with weights rounded differently, and compares the answers. A model
// that has another answer each time is an error, because the change of its answers isn't rounding.
func roundings(ctx context.Context, by asker, questions []question, answers []map[string]column, tolerance float64) (roundingOfAll, error) {
	again, err := by.ask(ctx, questions)
	if err != nil {
		return nil, fmt.Errorf("ask %s again: %w", by.name(), err)
	}
	for i, answer := range answers {
		for _, name := range slices.Sorted(maps.Keys(answer)) {
			if !repeats(answer[name], again[i][name], tolerance) {
				return nil, fmt.Errorf("asked again, %s has another output %q for the same rows", by.name(), name)
			}
		}
	}
	all := make(roundingOfAll, len(questions))
	for i := range all {
		all[i] = map[string][]rounding{}
	}
	for seed := range uint64(roundedTimes) {
		rounded, err := by.askRounded(ctx, questions, seed+1)
		if err != nil {
			return nil, fmt.Errorf("ask %s with rounded weights: %w", by.name(), err)
		}
		for i, answer := range answers {
			for name, column := range answer {
				all[i][name] = widen(all[i][name], column, rounded[i][name])
			}
		}
	}
	return all, nil
}

// repeats reports whether two answers to the same question are the same, except for the order in
// which TensorFlow's threads add.
func repeats(answer, again column, tolerance float64) bool {
	return slices.EqualFunc(answer, again, func(a, b values) bool {
		distance, _ := a.apart(b, 0)
		return a.isLike(b) && distance <= tolerance*(1+a.largest())
	})
}

// widen adds the changes of an output by one rounding.
func widen(sofar []rounding, answered, rounded column) []rounding {
	if sofar == nil {
		sofar = make([]rounding, len(answered))
	}
	for row := range min(len(answered), len(rounded)) {
		distance, _ := rounded[row].apart(answered[row], 0)
		sofar[row].distance = max(sofar[row].distance, distance)
		sofar[row].other = sofar[row].other || !rounded[row].isLike(answered[row])
	}
	return sofar
}
