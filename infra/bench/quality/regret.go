package quality

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Regret returns the normalized regret of a value: 0 for the best point that there is, 1 for the
// median of all points. Usual definitions divide by the range of the table (HPO-B, Pineda Arango
// and others 2021, arXiv:2106.06257), or by the distance to what random search reaches (Turner and
// others 2021, arXiv:2104.10201). The worst point of many tables here is a training that diverged:
// divided by its distance, all regrets are zero. The median is random search's value of one trial.
func (p Problem) Regret(value float64) float64 {
	return max(0, (value-p.Best)/(p.Median-p.Best))
}

// Regrets returns the regrets after so many trials, one for each run that had as many.
func (p Problem) Regrets(runs []Run, trials int) (all []float64) {
	for _, best := range After(runs, p.Name, trials) {
		all = append(all, p.Regret(best))
	}
	return all
}

// MedianInterval returns the interval of the median by the percentile bootstrap, at Level. It is
// deterministic: resampling has a fixed seed. Both ends are NaN for fewer values than Fewest.
func MedianInterval(values []float64) (low, high float64) {
	if len(values) < Fewest {
		return math.NaN(), math.NaN()
	}
	random := rand.New(rand.NewPCG(11, 2026))
	medians := make([]float64, Resamples)
	for i := range medians {
		medians[i] = resampledMedian(random, values)
	}
	slices.Sort(medians)
	return quantile(medians, (1-Level)/2), quantile(medians, (1+Level)/2)
}

// Ranks returns the rank of each value, 1 for the least. Equal values share the mean of their ranks
// (Demšar 2006, "Statistical comparisons of classifiers over multiple data sets", JMLR 7).
func Ranks(values []float64) []float64 {
	ranks := make([]float64, len(values))
	for i, value := range values {
		less, same := 0, 0
		for _, other := range values {
			switch {
			case other < value:
				less++
			case other == value:
				same++
			}
		}
		ranks[i] = float64(less) + float64(same+1)/2
	}
	return ranks
}

// CriticalDifference returns by how much the mean ranks of two of k searchers over n problems have
// to differ to be distinguished by Nemenyi's test at Level (Demšar 2006, section 3.2.2).
func CriticalDifference(k, n int) float64 {
	return nemenyi(k) * math.Sqrt(float64(k*(k+1))/float64(6*n))
}

// nemenyi returns the quantile of the studentized range of k values with infinite degrees of
// freedom, divided by the square root of 2.
func nemenyi(k int) float64 {
	low, high := 0.0, 20.0
	for high-low > 1e-9 {
		if middle := (low + high) / 2; rangeBelow(middle, k) < Level {
			low = middle
		} else {
			high = middle
		}
	}
	return low / math.Sqrt2
}

// rangeBelow returns the probability that the range of k standard normal values is less than q:
//
//	k integral of phi(z) (Phi(z) - Phi(z - q))^(k-1) dz
func rangeBelow(q float64, k int) float64 {
	const from, to, steps = -8, 8, 1600 // phi is below 1e-14 outside, and smooth
	var sum float64
	for i := range steps + 1 {
		z := from + (to-from)*float64(i)/steps
		density := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
		sum += density * math.Pow(normalBelow(z)-normalBelow(z-q), float64(k-1))
	}
	return float64(k) * sum * (to - from) / steps
}

func normalBelow(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }
