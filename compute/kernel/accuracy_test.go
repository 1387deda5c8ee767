package kernel

import (
	"flag"
	"fmt"
	"math"
	"testing"
)

var every = flag.Uint("every", 2003, "accuracy is tested with every so many of all 2^32 float32")

// isas returns the instruction sets of this processor.
func isas() []ISA {
	var all []ISA
	for isa := Portable; isa <= processorISA(); isa++ {
		all = append(all, isa)
	}
	return all
}

// exact computes f(x) in float64.
func exact(f Func, v float64) float64 {
	switch f {
	case Sigmoid:
		if v < 0 {
			return math.Exp(v) / (1 + math.Exp(v))
		}
		return 1 / (1 + math.Exp(-v))
	case Tanh:
		return math.Tanh(v)
	case Softplus:
		return max(v, 0) + math.Log1p(math.Exp(-math.Abs(v)))
	case Exp:
		return math.Exp(v)
	case Log:
		return math.Log(v)
	case Log1p:
		return math.Log1p(v)
	case Expm1:
		return math.Expm1(v)
	case Sqrt:
		return math.Sqrt(v)
	case Square:
		return v * v
	case Inverse:
		return 1 / v
	}
	panic("not a function of the mathematical library")
}

// ulps returns how many units in the last place got is from want, 0 if both are beyond float32 or
// NaN.
func ulps(got float32, want float64) float64 {
	if math.IsNaN(want) || float64(float32(want)) == float64(got) {
		if math.IsNaN(want) != math.IsNaN(float64(got)) {
			return math.Inf(1)
		}
		return 0
	}
	_, exponent := math.Frexp(want)
	return math.Abs(float64(got)-want) / math.Ldexp(1, max(exponent-24, -149))
}

// The comment of Func promises 2; a sweep with -every=1 finds the worst of all numbers.
func TestFunctionsAreWithinTwoUnitsInTheLastPlace(t *testing.T) {
	t.Parallel()
	for _, f := range []Func{Sigmoid, Tanh, Softplus, Exp, Log, Log1p, Expm1, Sqrt, Square, Inverse} {
		for _, isa := range isas() {
			if isa == Portable && *every > 1 && testing.Short() {
				continue // it calls math itself, and is slow
			}
			t.Run(fmt.Sprint(f, "/", isa), func(t *testing.T) {
				t.Parallel()
				worst, at := 0.0, float32(0)
				x, y := make([]float32, 0, 1024), make([]float32, 1024)
				for b := uint64(0); b < 1<<32; {
					for x = x[:0]; len(x) < 1000 && b < 1<<32; b += uint64(*every) {
						x = append(x, math.Float32frombits(uint32(b)))
					}
					mapped(isa, f, y[:len(x)], x)
					for i, v := range x {
						if u := ulps(y[i], exact(f, float64(v))); u > worst {
							worst, at = u, v
						}
					}
				}
				if worst > 2 {
					got := []float32{at}
					mapped(isa, f, got, got)
					t.Errorf("at %v: %v, want %v: %.2f units", at, got, exact(f, float64(at)), worst)
				}
				t.Logf("worst %.3f units, at %v", worst, at)
			})
		}
	}
}

func TestFunctionsAtZeroInfinityAndNaN(t *testing.T) {
	t.Parallel()
	inf, nan, negative := float32(math.Inf(1)), float32(math.NaN()), float32(math.Copysign(0, -1))
	for f := Identity; f <= Step; f++ {
		for _, isa := range isas() {
			for _, x := range []float32{0, negative, inf, -inf, nan} {
				y := []float32{7}
				mapped(isa, f, y, []float32{x})
				if want := f.Of(x); y[0] != want && (y[0] == y[0] || want == want) {
					t.Errorf("%v of %v at %v: %v, want %v", f, x, isa, y[0], want)
				}
			}
		}
	}
}
