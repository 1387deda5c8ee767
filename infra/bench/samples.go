package main

import (
	"math"
	"slices"
	"time"
)

// samples are what rounds measured, one number a round, in any order.
type samples []float64

// quantile is the smallest sample that q of all samples do not exceed (the nearest-rank method): a
// number that was measured, never one between two. 0 for no samples.
func (s samples) quantile(q float64) float64 {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	rank := int(math.Ceil(q * float64(len(s))))
	return sorted[max(rank, 1)-1]
}

func (s samples) mean() float64 {
	if len(s) == 0 {
		return 0
	}
	var sum float64
	for _, x := range s {
		sum += x
	}
	return sum / float64(len(s))
}

func (s samples) spread() float64 { return s.quantile(0.9) - s.quantile(0.1) }

func (s *samples) addTime(d time.Duration) { *s = append(*s, float64(d)/float64(time.Millisecond)) }
