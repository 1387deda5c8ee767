package gp

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestTheSlopeOfTheLikelihoodIsThatOfDifferences(t *testing.T) {
	t.Parallel()
	points, y := some(25, []bool{false, true, false})
	prior := DefaultPrior(3)
	l := newLikelihood(points, y, prior)
	theta := logarithms([]float64{0.4, 1.3, 0.8}, 1.7, 0.02)
	gradient := make([]float64, len(theta))
	if _, _, ok := l.at(theta, gradient); !ok {
		t.Fatal("no covariance")
	}
	for i := range theta {
		// The error of a central difference is of the order of h², and of 1e-16/h by rounding.
		const h = 1e-5
		at := func(step float64) float64 {
			moved := append([]float64(nil), theta...)
			moved[i] += step
			value, _, _ := l.at(moved, nil)
			return value
		}
		if want := (at(h) - at(-h)) / (2 * h); math.Abs(gradient[i]-want) > 1e-6*max(1, math.Abs(want)) {
			t.Errorf("parameter %d: slope %v, by differences %v", i, gradient[i], want)
		}
	}
}

func TestAFitEndsWhereNothingIsBetter(t *testing.T) {
	t.Parallel()
	points, y := some(40, []bool{false, false, true})
	prior := DefaultPrior(3)
	kernel, err := Fit(points, y, prior)
	if err != nil {
		t.Fatal(err)
	}
	l := newLikelihood(points, y, prior)
	theta := logarithms(kernel.Scales, kernel.Variance, kernel.Noise-prior.LeastNoise)
	best, _, _ := l.at(theta, nil)
	for i := range theta {
		for _, step := range []float64{-0.1, 0.1} {
			theta[i] += step
			if value, _, ok := l.at(theta, nil); ok && value > best {
				t.Errorf("parameter %d moved by %v is better by %v", i, step, value-best)
			}
			theta[i] -= step
		}
	}
}

func TestAFitSeparatesNoiseFromTheFunction(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, deviation := range []float64{0, 0.3} {
		points, y := Points{Nominal: []bool{false}}, []float64(nil)
		for i := range 60 {
			x := float64(i) / 60
			points.Rows = append(points.Rows, []float64{x})
			y = append(y, math.Sin(7*x)+deviation*random.NormFloat64())
		}
		kernel, err := Fit(points, y, DefaultPrior(1))
		if err != nil {
			t.Fatal(err)
		}
		// With 60 values the deviation is known to within a tenth of itself; a fifth is twice that.
		if got := math.Sqrt(kernel.Noise); math.Abs(got-deviation) > 0.06 {
			t.Errorf("noise has deviation %v, was made with %v", got, deviation)
		}
	}
}

// TestLengthScalesDoNotCollapse uses values that nothing explains. Without a prior, length scales
// become so short that each point is alone, and the rest of a search is random.
func TestLengthScalesDoNotCollapse(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 0))
		points, y := Points{Nominal: make([]bool, 2)}, []float64(nil)
		for range 8 {
			points.Rows = append(points.Rows, []float64{random.Float64(), random.Float64()})
			y = append(y, random.NormFloat64())
		}
		kernel, err := Fit(points, y, DefaultPrior(2))
		if err != nil {
			t.Fatal(err)
		}
		for _, scale := range kernel.Scales {
			if scale < 0.05 {
				t.Errorf("seed %d: length scale %v", seed, scale)
			}
		}
	}
}

func TestEqualPointsAreNoFault(t *testing.T) {
	t.Parallel()
	points, y := Points{Nominal: []bool{false}}, []float64(nil)
	for i := range 30 {
		points.Rows = append(points.Rows, []float64{float64(i%3) / 2})
		y = append(y, float64(i%3))
	}
	kernel, err := Fit(points, y, DefaultPrior(1))
	if err != nil {
		t.Fatal(err)
	}
	if mean, _ := observed(t, kernel, points, y).Predictor().At([]float64{0.5}); math.Abs(mean-1) > 0.01 {
		t.Errorf("expects %v where 1 was seen ten times", mean)
	}
}

func TestWhatDoesNotFitTogetherIsAnError(t *testing.T) {
	t.Parallel()
	if _, err := Fit(Points{Nominal: []bool{false}}, nil, DefaultPrior(1)); err == nil {
		t.Error("no points, and no error")
	}
	points, y := some(5, []bool{false})
	if _, err := Fit(points, y[:4], DefaultPrior(1)); err == nil {
		t.Error("a point without a value, and no error")
	}
}

// some returns points, with three values in nominal dimensions, and values at them.
func some(n int, nominal []bool) (points Points, y []float64) {
	random := rand.New(rand.NewPCG(3, 4))
	points.Nominal = nominal
	for range n {
		x, sum := make([]float64, len(nominal)), 0.1*random.NormFloat64()
		for d := range x {
			x[d] = random.Float64()
			if nominal[d] {
				x[d] = float64(random.IntN(3)) / 3
			}
			sum += math.Sin(4*x[d] + float64(d))
		}
		points.Rows, y = append(points.Rows, x), append(y, sum)
	}
	return points, y
}
