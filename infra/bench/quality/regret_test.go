package quality

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestRegretIsZeroAtTheBestAndOneAtTheMedian(t *testing.T) {
	t.Parallel()
	p := Problem{Function: Function{Name: "p", Best: 2}, Median: 6}
	for value, want := range map[float64]float64{2: 0, 6: 1, 4: 0.5, 10: 2, 1.9: 0} {
		if got := p.Regret(value); got != want { // exact: quarters
			t.Errorf("regret of %v is %v, expected %v", value, got, want)
		}
	}
	runs := []Run{
		{Function: "p", Trials: 100, Better: []Better{{1, 6}, {30, 4}}},
		{Function: "p", Trials: 20, Better: []Better{{1, 2}}}, // has no 50 trials
		{Function: "q", Trials: 100, Better: []Better{{1, 2}}},
	}
	if got := p.Regrets(runs, 50); !slices.Equal(got, []float64{0.5}) {
		t.Errorf("regrets after 50 trials are %v", got)
	}
}

func TestEqualValuesShareTheirRanks(t *testing.T) {
	t.Parallel()
	for _, one := range []struct{ values, ranks []float64 }{
		{[]float64{0.3, 0.1, 0.2}, []float64{3, 1, 2}},
		{[]float64{0, 5, 0, 0}, []float64{2, 4, 2, 2}},
		{[]float64{1, 2, 2, 3}, []float64{1, 2.5, 2.5, 4}},
		{nil, []float64{}},
	} {
		if got := Ranks(one.values); !slices.Equal(got, one.ranks) {
			t.Errorf("ranks of %v are %v, expected %v", one.values, got, one.ranks)
		}
	}
}

// Demšar 2006 compares 4 classifiers on 14 data sets: the critical value is 2.569 and the critical
// difference 2.569 sqrt(4 * 5 / (6 * 14)) = 1.25. His table 5a has the other values.
func TestTheCriticalDifferenceIsDemsars(t *testing.T) {
	t.Parallel()
	for k, want := range map[int]float64{2: 1.960, 3: 2.343, 4: 2.569, 5: 2.728, 10: 3.164} {
		// The table has three digits, not all rounded.
		if got := nemenyi(k); math.Abs(got-want) > 0.001 {
			t.Errorf("critical value of %d is %v, expected %v", k, got, want)
		}
	}
	if got := CriticalDifference(4, 14); math.Abs(got-1.25) > 0.005 {
		t.Errorf("critical difference of 4 on 14 is %v, expected 1.25", got)
	}
}

// The interval is the same each time, holds the median, and narrows with more values.
func TestTheIntervalOfAMedian(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 3))
	few := normal(random, 5)
	many := few
	for range 9 {
		many = slices.Concat(many, normal(random, 5))
	}
	low, high := MedianInterval(few)
	if again, _ := MedianInterval(few); again != low {
		t.Errorf("low end is %v, and then %v", low, again)
	}
	if median := QuartilesOf(few).Median; low > median || high < median || low == high {
		t.Errorf("interval [%v, %v] of the median %v", low, high, median)
	}
	if l, h := MedianInterval(many); h-l >= high-low {
		t.Errorf("interval [%v, %v] of ten times as many values as in [%v, %v]", l, h, low, high)
	}
	if low, high := MedianInterval([]float64{1, 1, 1, 1, 1}); low != 1 || high != 1 {
		t.Errorf("interval of equal values is [%v, %v]", low, high)
	}
	if low, _ := MedianInterval([]float64{1, 2, 3, 4}); !math.IsNaN(low) {
		t.Errorf("interval of four values begins at %v", low)
	}
}
