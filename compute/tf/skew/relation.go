package skew

import (
	"math"
	"slices"
)

// relation is a function that a signature may apply to an output of the model before it answers,
// for example from logits to probabilities. A signature that does something else to them can't be
// compared.
type relation struct {
	name string
	// Computes it from an output of the model in memory; nil: there is no such function.
	of   func([]float64) []float64
	back bool // it computes the answer of the model in memory from the served one
}

// relations in the order in which they are tried.
var relations = []relation{
	{name: "", of: func(x []float64) []float64 { return x }},
	{name: "sigmoid", of: each(sigmoid)},
	{name: "softmax", of: softmax},
	{name: "sigmoid of the answers", of: each(sigmoid), back: true},
	{name: "softmax of the answers", of: softmax, back: true},
	{name: "exp", of: each(math.Exp)},
	{name: "expm1", of: each(math.Expm1)},
	{name: "exp of the answers", of: each(math.Exp), back: true},
	{name: "1 - x", of: each(func(x float64) float64 { return 1 - x })},
	{name: "[1 - x, x]", of: both},
	{name: "[1 - sigmoid, sigmoid]", of: func(x []float64) []float64 { return both(each(sigmoid)(x)) }},
	{name: "the last column", of: last},
	{name: "the last column of softmax", of: func(x []float64) []float64 { return last(softmax(x)) }},
	{name: "at least 0", of: each(func(x float64) float64 { return max(0, x) })},
	{name: "rounded", of: each(math.RoundToEven)},
	{name: "the largest", of: largestOf},
	{name: "the largest of softmax", of: func(x []float64) []float64 { return largestOf(softmax(x)) }},
	{name: "from the largest on", of: descending},
	{name: "softmax from the largest on", of: func(x []float64) []float64 { return descending(softmax(x)) }},
	{name: "the largest column", of: argmax},
	{name: "more than 0.5", of: each(func(x float64) float64 { return truth(x > 0.5) })},
	{name: "more than 0", of: each(func(x float64) float64 { return truth(x > 0) })},
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func each(f func(float64) float64) func([]float64) []float64 {
	return func(x []float64) []float64 {
		y := make([]float64, len(x))
		for i := range x {
			y[i] = f(x[i])
		}
		return y
	}
}

func softmax(x []float64) []float64 {
	if len(x) < 2 {
		return nil
	}
	most, sum := slices.Max(x), 0.0
	y := each(func(x float64) float64 { return math.Exp(x - most) })(x)
	for _, v := range y {
		sum += v
	}
	return each(func(x float64) float64 { return x / sum })(y)
}

func both(x []float64) []float64 {
	if len(x) != 1 {
		return nil
	}
	return []float64{1 - x[0], x[0]}
}

func last(x []float64) []float64 {
	if len(x) < 2 {
		return nil
	}
	return x[len(x)-1:]
}

func largestOf(x []float64) []float64 {
	if len(x) < 2 {
		return nil
	}
	return []float64{slices.Max(x)}
}

func argmax(x []float64) []float64 {
	if len(x) < 2 {
		return nil
	}
	return []float64{float64(slices.Index(x, slices.Max(x)))}
}

// descending returns the numbers from the largest on; only as many as there are answers count.
func descending(x []float64) []float64 {
	if len(x) < 2 {
		return nil
	}
	return slices.SortedFunc(slices.Values(x), func(a, b float64) int { return -compareNumbers(a, b) })
}

func compareNumbers(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// apply returns the served values and the expected ones, by this relation; false if the two can't
// be compared.
func (r relation) apply(served, want values) (a, b values, ok bool) {
	if served.texts != nil || want.texts != nil {
		return served, want, r.name == "" && len(served.texts) == len(want.texts) && served.len() == want.len()
	}
	if r.back {
		served = values{floats: r.of(numbersOf(served))}
	} else if r.name != "" {
		want = values{floats: r.of(numbersOf(want))}
	}
	if (r.name == "from the largest on" || r.name == "softmax from the largest on") && want.len() > served.len() {
		want.floats = want.floats[:served.len()]
	}
	return served, want, served.len() == want.len() && served.len() > 0
}

func numbersOf(v values) []float64 {
	list := make([]float64, v.len())
	for i := range list {
		list[i] = v.number(i)
	}
	return list
}
