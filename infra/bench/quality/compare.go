package quality

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/stoker-ml/stoker/compute/tune"
)

// Quartiles are those of N values.
type Quartiles struct {
	Low, Median, High float64
	N                 int
}

// QuartilesOf interpolates between neighbors as NumPy does. All are NaN for no values.
func QuartilesOf(values []float64) Quartiles {
	sorted := slices.Sorted(slices.Values(values))
	return Quartiles{quantile(sorted, 0.25), quantile(sorted, 0.5), quantile(sorted, 0.75), len(values)}
}

func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := q * float64(len(sorted)-1)
	below := int(at)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + (at-float64(below))*(sorted[above]-sorted[below])
}

// Verdict is the result of comparing one set of values with another.
type Verdict string

// The verdicts. NoWorse means that the data shows no difference; it does not prove that there is
// none.
const (
	IsBetter Verdict = "better"
	NoWorse  Verdict = "no worse"
	IsWorse  Verdict = "worse"
	Unknown  Verdict = "not compared" // one of them has too few values
)

// The difference of two medians is judged by the percentile bootstrap (Efron and Tibshirani 1993,
// chapter 13).
const (
	Level     = 0.95
	Resamples = 10_000
	// Values of either: fewer cannot be resampled to estimate the error of their median.
	Fewest = 5
)

// Comparison compares our values with a peer's.
type Comparison struct {
	Ours, Peer Quartiles
	Low, High  float64 // the interval of our median less the peer's
	Verdict    Verdict
}

// Compare judges whether our median is better. It is deterministic: resampling has a fixed seed.
func Compare(ours, peer []float64, direction tune.Direction) Comparison {
	c := Comparison{Ours: QuartilesOf(ours), Peer: QuartilesOf(peer), Low: math.NaN(), High: math.NaN(), Verdict: Unknown}
	if len(ours) < Fewest || len(peer) < Fewest {
		return c
	}
	c.Low, c.High = interval(ours, peer)
	switch {
	case c.Low <= 0 && c.High >= 0:
		c.Verdict = NoWorse
	case direction.Better(c.Low, 0):
		c.Verdict = IsBetter
	default:
		c.Verdict = IsWorse
	}
	return c
}

// interval contains the middle Level of the differences between the medians of resampled values.
func interval(ours, peer []float64) (low, high float64) {
	random := rand.New(rand.NewPCG(7, 2026))
	differences := make([]float64, Resamples)
	for i := range differences {
		differences[i] = resampledMedian(random, ours) - resampledMedian(random, peer)
	}
	slices.Sort(differences)
	return quantile(differences, (1-Level)/2), quantile(differences, (1+Level)/2)
}

// resampledMedian returns the median of as many values, drawn from them with replacement.
func resampledMedian(random *rand.Rand, values []float64) float64 {
	again := make([]float64, len(values))
	for i := range again {
		again[i] = values[random.IntN(len(values))]
	}
	slices.Sort(again)
	return quantile(again, 0.5)
}
