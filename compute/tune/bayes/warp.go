package bayes

import (
	"math"
	"slices"
)

// warp transforms scores, of which small ones are good, to a mean of 0 and a variance of 1, and
// compresses the worse half: a score of 300 among others around 1 says no more than one of 30, but
// would hide the differences between the good ones. With the median at 1 and the minimum at 0, a
// score above 1 becomes 1 + log(score). Missing scores become the worst.
func warp(scores []float64) []float64 {
	sorted := slices.DeleteFunc(slices.Clone(scores), math.IsNaN)
	if len(sorted) == 0 {
		return make([]float64, len(scores))
	}
	slices.Sort(sorted)
	least, median, worst := sorted[0], sorted[len(sorted)/2], sorted[len(sorted)-1]
	unit := median - least
	if math.IsInf((worst-least)/unit, 0) { // the unit is 0, or nearly so
		unit = worst - least
	}
	warped := make([]float64, len(scores))
	for i, score := range scores {
		if math.IsNaN(score) {
			score = worst
		}
		warped[i] = score - least // small numbers that differ by little lose nothing
		if warped[i] > unit {
			warped[i] = unit * (1 + math.Log(warped[i]/unit))
		}
	}
	return standard(warped)
}

// standard returns numbers with a mean of 0 and a variance of 1, or all 0.
func standard(numbers []float64) []float64 {
	mean, variance := moments(numbers)
	if !(variance > 0) {
		return make([]float64, len(numbers))
	}
	for i := range numbers {
		numbers[i] = (numbers[i] - mean) / math.Sqrt(variance)
	}
	return numbers
}

func moments(numbers []float64) (mean, variance float64) {
	for _, number := range numbers {
		mean += number / float64(len(numbers))
	}
	for _, number := range numbers {
		variance += (number - mean) * (number - mean) / float64(len(numbers))
	}
	return mean, variance
}

// tame scales numbers whose sign matters to sizes around 1, and compresses large ones: asinh(x /
// the median size).
func tame(numbers []float64) []float64 {
	sizes := make([]float64, len(numbers))
	for i, number := range numbers {
		sizes[i] = math.Abs(number)
	}
	slices.Sort(sizes)
	unit := sizes[len(sizes)/2]
	if unit == 0 {
		unit = max(sizes[len(sizes)-1], 1)
	}
	tamed := make([]float64, len(numbers))
	for i, number := range numbers {
		tamed[i] = math.Asinh(number / unit)
	}
	return tamed
}
