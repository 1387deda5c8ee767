package gp

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

// TestAsScikitLearn compares with scikit-learn 1.x: testdata/scikit_learn.py made the file. Both
// compute in float64; with a condition of 10⁵ that leaves a relative accuracy of at least 10⁻⁸.
func TestAsScikitLearn(t *testing.T) {
	t.Parallel()
	var cases []struct {
		X, At               [][]float64
		Y, Scales, Gradient []float64
		Expected, Deviation []float64
		Variance, Noise     float64
		Mean, Likelihood    float64
	}
	text, err := os.ReadFile("testdata/scikit_learn.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) != 3 {
		t.Fatalf("%d cases, expected 3", len(cases))
	}
	for _, c := range cases {
		points := Points{Rows: c.X, Nominal: make([]bool, len(c.Scales))}

		l := newLikelihood(points, c.Y, flat)
		gradient := make([]float64, len(c.Scales)+2)
		value, kernel, ok := l.at(logarithms(c.Scales, c.Variance, c.Noise), gradient)
		if !ok {
			t.Fatal("no covariance")
		}
		near(t, "mean", kernel.Mean, c.Mean)
		near(t, "likelihood", value+c.Mean*c.Mean/2, c.Likelihood) // without the prior of the mean
		for i := range gradient {
			near(t, "gradient", gradient[i], c.Gradient[i])
		}

		predictor := observed(t, kernel, points, c.Y).Predictor()
		for i, x := range c.At {
			mean, variance := predictor.At(x)
			near(t, "expected", mean, c.Expected[i])
			near(t, "deviation", math.Sqrt(variance+c.Noise), c.Deviation[i])
		}
	}
}

// flat is a prior without influence.
var flat = Prior{Scale: LogNormal{0, 1e12}, Variance: LogNormal{0, 1e12}, Noise: LogNormal{0, 1e12}}

func logarithms(scales []float64, more ...float64) (theta []float64) {
	for _, x := range append(append(theta, scales...), more...) {
		theta = append(theta, math.Log(x))
	}
	return theta
}

func observed(t *testing.T, kernel Kernel, points Points, y []float64) *Process {
	t.Helper()
	process, err := New(kernel, points)
	if err != nil {
		t.Fatal(err)
	}
	if process, err = process.Observe(y); err != nil {
		t.Fatal(err)
	}
	return process
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-8*max(1, math.Abs(want)) {
		t.Errorf("%s: %.12g, expected %.12g", what, got, want)
	}
}
