package suggest

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Trials that violate a constraint, failed or still run are in no front, wherever they are among
// the others.
func TestFrontsAreOfThoseThatCount(t *testing.T) {
	t.Parallel()
	results := []result{
		{}, {scores: []float64{0, 0}, broken: 1}, {scores: []float64{2, 2}}, {scores: []float64{1, 3}}, {}, {scores: []float64{3, 3}}, {scores: []float64{3, 1}},
	}
	endless := math.Inf(1)
	want := []layered{{}, {}, {0, 2}, {0, endless}, {}, {1, endless}, {0, endless}}
	got := layer(results)
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(layered{})); diff != "" {
		t.Errorf("fronts and distance: want - got +\n%s", diff)
	}
}
