package kernel

import (
	"fmt"
	"math"
	"testing"
)

func TestClipValueKeepsEachWithinTheBound(t *testing.T) {
	t.Parallel()
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	g := []float32{-3, -2, -1.5, 0, 1.5, 2, 3, inf, -inf, nan}
	(*ThreadPool)(nil).ClipValue(g, 2)
	if got, want := fmt.Sprint(g), "[-2 -2 -1.5 0 1.5 2 2 2 -2 NaN]"; got != want {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestClipNormScalesToTheBound(t *testing.T) {
	t.Parallel()
	for bound, want := range map[float32]string{10: "[3 0 -4]", 5: "[3 0 -4]", 2.5: "[1.5 0 -2]"} {
		g := []float32{3, 0, -4}
		(*ThreadPool)(nil).ClipNorm(g, bound)
		if got := fmt.Sprint(g); got != want {
			t.Errorf("norm 5 by %g: %v, want %v", bound, got, want)
		}
	}
}

func TestClipNormHidesNoNaNAndNoInfinity(t *testing.T) {
	t.Parallel()
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		g := []float32{3, float32(bad), 0}
		(*ThreadPool)(nil).ClipNorm(g, 1)
		if got, want := fmt.Sprint(g), "[NaN NaN NaN]"; got != want {
			t.Errorf("with %g: %v, want %v", bad, got, want)
		}
	}
}
