package quality

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stoker-ml/stoker/compute/tune"
)

func TestQuartilesAreNumPys(t *testing.T) {
	t.Parallel()
	if got, want := QuartilesOf([]float64{4, 1, 3, 2}), (Quartiles{1.75, 2.5, 3.25, 4}); got != want {
		t.Errorf("quartiles are %v, expected %v", got, want)
	}
	if none := QuartilesOf(nil); !math.IsNaN(none.Median) {
		t.Errorf("the median of nothing is %v", none.Median)
	}
}

// Two samples of one distribution are seldom distinguished, and two far apart always, whichever
// direction is good.
func TestVerdictsFollowTheInterval(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	apart := 0
	for range 40 {
		if Compare(normal(random, 0), normal(random, 0), tune.Min).Verdict != NoWorse {
			apart++
		}
	}
	// At a level of 95 % two in 40 are expected; a bootstrap of medians of 20 distinguishes too few
	// rather than too many.
	if apart > 5 {
		t.Errorf("of 40 pairs of one distribution %d were distinguished", apart)
	}
	near, far := normal(random, 0), normal(random, 3)
	for direction, verdict := range map[tune.Direction]Verdict{tune.Min: IsBetter, tune.Max: IsWorse} {
		if c := Compare(near, far, direction); c.Verdict != verdict || c.High >= 0 {
			t.Errorf("3 less, in standard deviations of 20 values each, to be made %s: %+v", direction, c)
		}
	}
	if c := Compare(far, near, tune.Min); c.Verdict != IsWorse || c.Low <= 0 {
		t.Errorf("3 more, to be made small: %+v", c)
	}
}

func TestFewValuesAreNotCompared(t *testing.T) {
	t.Parallel()
	five := []float64{1, 2, 3, 4, 5}
	for _, few := range [][]float64{nil, {9, 9, 9, 9}} {
		if c := Compare(five, few, tune.Min); c.Verdict != Unknown {
			t.Errorf("verdict compared with %v is %q", few, c.Verdict)
		}
		if c := Compare(few, five, tune.Min); c.Verdict != Unknown {
			t.Errorf("verdict of %v is %q", few, c.Verdict)
		}
	}
}

func normal(random *rand.Rand, mean float64) (values []float64) {
	for range 20 {
		values = append(values, mean+random.NormFloat64())
	}
	return values
}
