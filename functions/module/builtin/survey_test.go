package builtin

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat"
)

func TestMomentsAreMeanAndDeviation(t *testing.T) {
	t.Parallel()
	for name, x := range map[string][]float64{
		"some": {1, 2, 4, 8}, "far from zero": {1e9 + 1, 1e9 + 2, 1e9 + 4}, "negative": {-3, 5, -7},
	} {
		var m moments
		for _, v := range x {
			m.add(v)
		}
		mean, deviation := stat.PopMeanStdDev(x, nil)
		// Float64 at 1e9 has 1e-7 between neighbours.
		if math.Abs(m.mean-mean) > 1e-7*math.Abs(mean) {
			t.Errorf("%s: mean is %v, gonum has %v", name, m.mean, mean)
		}
		if want := 1 / deviation; deviation > 1e-7*math.Abs(mean) && math.Abs(m.scale()-want) > 1e-6*want {
			t.Errorf("%s: scale is %v, gonum has %v", name, m.scale(), want)
		}
	}
}

func TestAColumnOfOneValueSaysNothing(t *testing.T) {
	t.Parallel()
	var none, same moments
	for range 3 {
		same.add(0.1)
	}
	if none.scale() != 0 || same.scale() != 0 {
		t.Errorf("scales are %v and %v, expected 0", none.scale(), same.scale())
	}
}
