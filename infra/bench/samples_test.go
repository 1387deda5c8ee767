package main

import (
	"testing"
	"time"
)

func TestAQuantileIsASampleByNearestRank(t *testing.T) {
	t.Parallel()
	hundred := make(samples, 100) // 100, 99, ..., 1
	for i := range hundred {
		hundred[i] = float64(100 - i)
	}
	for _, tc := range []struct {
		s       samples
		q, want float64
	}{
		{hundred, 0.5, 50}, {hundred, 0.99, 99}, {hundred, 1, 100}, {hundred, 0, 1},
		{samples{3, 1, 2}, 0.5, 2}, {samples{4, 1, 2, 3}, 0.5, 2}, {samples{7}, 0.99, 7}, {nil, 0.5, 0},
	} {
		if got := tc.s.quantile(tc.q); got != tc.want {
			t.Errorf("quantile %v of %d samples: %v, expected %v", tc.q, len(tc.s), got, tc.want)
		}
	}
	if hundred[0] != 100 {
		t.Error("the samples were sorted in place")
	}
	if got := hundred.spread(); got != 80 {
		t.Errorf("spread %v, expected 80", got)
	}
}

func TestTimesAreInMilliseconds(t *testing.T) {
	t.Parallel()
	var s samples
	s.addTime(1500 * time.Microsecond)
	s.addTime(2500 * time.Microsecond)
	if got := s.mean(); got != 2 { // exact: both are sums of powers of two
		t.Errorf("mean %v ms, expected 2", got)
	}
}
