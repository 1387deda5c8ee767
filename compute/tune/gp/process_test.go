package gp

import (
	"math"
	"testing"
)

var kernel = Kernel{Scales: []float64{0.3, 0.9, 0.6}, Variance: 1.4, Noise: 1e-3, Mean: 0.2}

// TestOnePointHasAClosedForm: with k = k(x, x'), the mean is μ + k (y - μ)/(k(x, x) + noise), the
// variance k(x, x) - k²/(k(x, x) + noise).
func TestOnePointHasAClosedForm(t *testing.T) {
	t.Parallel()
	kernel := Kernel{Scales: []float64{0.5}, Variance: 2, Noise: 0.5, Mean: 1}
	points := Points{Rows: [][]float64{{0.25}}, Nominal: []bool{false}}
	mean, variance := observed(t, kernel, points, []float64{4}).Predictor().At([]float64{0.75})
	k := 2 * (1 + math.Sqrt(5) + 5./3) * math.Exp(-math.Sqrt(5)) // r is 1
	near(t, "mean", mean, 1+k*3/2.5)
	near(t, "variance", variance, 2-k*k/2.5)
}

func TestNominalValuesAreEqualOrNot(t *testing.T) {
	t.Parallel()
	kernel := Kernel{Scales: []float64{1}, Variance: 1, Noise: 1e-6}
	points := Points{Rows: [][]float64{{0.1}}, Nominal: []bool{true}}
	predictor := observed(t, kernel, points, []float64{1}).Predictor()
	a, _ := predictor.At([]float64{0.3})
	b, _ := predictor.At([]float64{0.9})
	same, _ := predictor.At([]float64{0.1})
	if a != b || a >= same {
		t.Errorf("%v and %v of other values, %v of the same", a, b, same)
	}
}

func TestAPointAddedIsAsGoodAsOneFromTheStart(t *testing.T) {
	t.Parallel()
	points, y := some(30, []bool{false, true, false})
	first, err := New(kernel, Points{Rows: points.Rows[:20], Nominal: points.Nominal})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range points.Rows[20:] {
		if first, err = first.Add(x); err != nil {
			t.Fatal(err)
		}
	}
	if first, err = first.Observe(y); err != nil {
		t.Fatal(err)
	}
	at := []float64{0.4, 1. / 3, 0.8}
	mean, variance := first.Predictor().At(at)
	wantMean, wantVariance := observed(t, kernel, points, y).Predictor().At(at)
	near(t, "mean", mean, wantMean)
	near(t, "variance", variance, wantVariance)
}

func TestBeliefLeavesTheMeanAndMakesSure(t *testing.T) {
	t.Parallel()
	points, y := some(20, []bool{false, true, false})
	before := observed(t, kernel, points, y)
	pending, at := []float64{0.5, 0, 0.5}, []float64{0.52, 0, 0.5}
	after, err := before.Believe(pending)
	if err != nil {
		t.Fatal(err)
	}
	mean, variance := after.Predictor().At(at)
	wantMean, more := before.Predictor().At(at)
	near(t, "mean", mean, wantMean)
	if variance > more/5 {
		t.Errorf("variance was %v, is %v next to a pending point", more, variance)
	}
}

func TestTheSlopeOfAPredictionIsThatOfDifferences(t *testing.T) {
	t.Parallel()
	points, y := some(30, []bool{false, true, false})
	predictor := observed(t, kernel, points, y).Predictor()
	at := []float64{0.37, 1. / 3, 0.61}
	byMean, byVariance := make([]float64, 3), make([]float64, 3)
	mean, variance := predictor.Slope(at, byMean, byVariance)
	if m, v := predictor.At(at); m != mean || v != variance {
		t.Errorf("%v, %v with the slope, %v, %v without", mean, variance, m, v)
	}
	for _, d := range []int{0, 2} {
		const h = 1e-5
		moved := func(step float64) (mean, variance float64) {
			x := append([]float64(nil), at...)
			x[d] += step
			return predictor.At(x)
		}
		m1, v1 := moved(h)
		m0, v0 := moved(-h)
		if want := (m1 - m0) / (2 * h); math.Abs(byMean[d]-want) > 1e-6 {
			t.Errorf("mean by %d: %v, by differences %v", d, byMean[d], want)
		}
		if want := (v1 - v0) / (2 * h); math.Abs(byVariance[d]-want) > 1e-6 {
			t.Errorf("variance by %d: %v, by differences %v", d, byVariance[d], want)
		}
	}
	if byMean[1] != 0 || byVariance[1] != 0 {
		t.Error("a nominal dimension has a slope")
	}
}

func TestTheRoughVarianceIsABound(t *testing.T) {
	t.Parallel()
	points, y := some(30, []bool{false, true, false})
	predictor := observed(t, kernel, points, y).Predictor()
	for i := range 50 {
		at := []float64{float64(i) / 50, float64(i%3) / 3, float64(i*7%50) / 50}
		mean, variance := predictor.At(at)
		roughMean, bound := predictor.Mean(at)
		near(t, "mean", roughMean, mean)
		if bound < variance {
			t.Errorf("at %v: bound %v, variance %v", at, bound, variance)
		}
	}
}
