package gp

import (
	"math"
	"testing"
)

// TestTheImprovementIsItsIntegral compares with EI = ∫ max(0, best - y) N(y; mean, σ²) dy by
// Simpson's rule. It leaves out z for which 1e-9 of the integral is less than a sum's rounding
// error.
func TestTheImprovementIsItsIntegral(t *testing.T) {
	t.Parallel()
	for _, z := range []float64{-12, -6, -3, -1.01, -0.99, -0.3, 0, 0.7, 2, 5} {
		const deviation, best = 1.7, 0.4
		got, _, _ := LogImprovement(best-z*deviation, deviation, best)
		near(t, "log EI", got, math.Log(deviation*integral(z)))
	}
}

// integral returns ∫ from -∞ to z of (z - u) φ(u) du, relative to φ(z) so that nothing vanishes: u
// = z - s.
func integral(z float64) float64 {
	const n, width = 200000, 40.
	sum := 0.0
	for i := range n + 1 {
		s := width * float64(i) / n
		weight := []float64{2, 4}[i%2]
		if i == 0 || i == n {
			weight = 1
		}
		sum += weight * s * math.Exp(z*s-s*s/2)
	}
	return sum * width / n / 3 * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
}

// TestTheImprovementHasASlopeFarAway: log h(z) → -z²/2 - log √(2π) - 2 log|z| for z → -∞, with the
// next term -3/z².
func TestTheImprovementHasASlopeFarAway(t *testing.T) {
	t.Parallel()
	for _, z := range []float64{-40, -1e3, -1e6} {
		got, byMean, _ := LogImprovement(-z, 1, 0)
		near(t, "log EI", got, -z*z/2-math.Log(2*math.Pi)/2-2*math.Log(-z)-3/(z*z))
		if want := z; math.Abs(byMean/want-1) > 2/(z*z)*2 {
			t.Errorf("z = %v: slope %v, expected about %v", z, byMean, want)
		}
	}
}

func TestJudgementsAreSmooth(t *testing.T) {
	t.Parallel()
	judgements := map[string]func(mean, deviation float64) (value, byMean, byDeviation float64){
		"improvement": func(m, d float64) (float64, float64, float64) { return LogImprovement(m, d, 0.2) },
		"feasible":    func(m, d float64) (float64, float64, float64) { return LogFeasible(m, d, 0.2) },
		"bound":       func(m, d float64) (float64, float64, float64) { return LowerBound(m, d, 2.6) },
	}
	for name, judge := range judgements {
		// z = -1 and z = -25 are where one formula ends and another begins.
		for _, mean := range []float64{-8, -1, 0.2, 0.5, 1.2 - 1e-6, 1.2, 1.2 + 1e-6, 9, 25.2 - 1e-6, 25.2, 25.2 + 1e-6, 80} {
			const h = 1e-5
			value, byMean, byDeviation := judge(mean, 1)
			up, _, _ := judge(mean+h, 1)
			down, _, _ := judge(mean-h, 1)
			if want := (up - down) / (2 * h); math.Abs(byMean-want) > 1e-5*max(1, math.Abs(want)) {
				t.Errorf("%s at %v: by mean %v, by differences %v", name, mean, byMean, want)
			}
			up, _, _ = judge(mean, 1+h)
			down, _, _ = judge(mean, 1-h)
			if want := (up - down) / (2 * h); math.Abs(byDeviation-want) > 1e-5*max(1, math.Abs(want)) {
				t.Errorf("%s at %v: by deviation %v, by differences %v", name, mean, byDeviation, want)
			}
			if math.IsNaN(value) || math.IsInf(value, 0) {
				t.Errorf("%s at %v is %v", name, mean, value)
			}
		}
	}
}

func TestFeasibleIsALogarithmOfAProbability(t *testing.T) {
	t.Parallel()
	for z, want := range map[float64]float64{0: 0.5, 1: 0.8413447460685429, -3: 0.0013498980316300933, 9: 1} {
		got, _, _ := LogFeasible(-z, 1, 0)
		near(t, "log Φ", got, math.Log(want))
	}
}
