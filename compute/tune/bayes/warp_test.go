package bayes

import (
	"math"
	"slices"
	"testing"
)

func TestWarpKeepsTheOrderAndTheGoodHalf(t *testing.T) {
	t.Parallel()
	scores := []float64{300, 1, 2, math.NaN(), 3, 40, 5}
	warped := warp(scores)
	if warped[3] != warped[0] {
		t.Errorf("what failed is %v, the worst %v", warped[3], warped[0])
	}
	if !(warped[1] < warped[2] && warped[2] < warped[4] && warped[4] < warped[6] && warped[6] < warped[5] && warped[5] < warped[0]) {
		t.Errorf("%v became %v: the order is another", scores, warped)
	}
	if a, b := warped[2]-warped[1], warped[4]-warped[2]; math.Abs(a-b) > 1e-12 {
		t.Errorf("steps of 1 among the good became %v and %v", a, b)
	}
	if good, bad := warped[6]-warped[1], warped[0]-warped[6]; math.Abs(bad/good-math.Log(299./4)) > 1e-12 {
		t.Errorf("the bad are %v apart, the good %v", bad, good)
	}
	mean, variance := moments(warped)
	if math.Abs(mean) > 1e-12 || math.Abs(variance-1) > 1e-12 {
		t.Errorf("mean %v, variance %v", mean, variance)
	}
}

func TestScoresThatSayNothingAreZero(t *testing.T) {
	t.Parallel()
	for _, scores := range [][]float64{{}, {math.NaN()}, {3, 3}, {3, math.NaN()}} {
		if warped := warp(scores); slices.ContainsFunc(warped, func(x float64) bool { return x != 0 }) {
			t.Errorf("%v became %v", scores, warped)
		}
	}
}

func TestWarpOfNumbersOfAnySizeIsFinite(t *testing.T) {
	t.Parallel()
	for _, scores := range [][]float64{{0, 5e-324, 1, 1}, {-1e100, 0, 1e100}, {0, 0, 0, 1e-300, 1e100}, {1e-320, 2e-320, 3e-320}} {
		if warped := warp(scores); slices.ContainsFunc(warped, func(x float64) bool { return !(math.Abs(x) < 10) }) {
			t.Errorf("%v became %v", scores, warped)
		}
	}
}

func TestTamedNumbersKeepTheirSign(t *testing.T) {
	t.Parallel()
	tamed := tame([]float64{-1e9, -1, 0, 0.5, 1e9})
	if !slices.IsSorted(tamed) || tamed[2] != 0 || tamed[1] >= 0 || tamed[4] > 50 {
		t.Errorf("%v", tamed)
	}
	if zeros := tame([]float64{0, 0}); zeros[0] != 0 {
		t.Errorf("%v", zeros)
	}
}
