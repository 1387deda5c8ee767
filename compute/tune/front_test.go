package tune_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/tune"
)

func TestFrontsAreThoseOfDeb(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	for name, c := range map[string]struct {
		points [][]float64
		want   [][]int
	}{
		"none":                                 {nil, nil},
		"two fronts":                           {[][]float64{{3, 1}, {2, 2}, {3, 2}, {1, 3}, {2, 3}}, [][]int{{0, 1, 3}, {2, 4}}},
		"equal ones share a front":             {[][]float64{{2, 2}, {1, 1}, {1, 1}}, [][]int{{1, 2}, {0}}},
		"one score":                            {[][]float64{{2}, {1}, {3}}, [][]int{{1}, {0}, {2}}},
		"as good in one is dominated":          {[][]float64{{1, 2}, {1, 1}}, [][]int{{1}, {0}}},
		"what is missing is worst":             {[][]float64{{nan, 1}, {5, 1}, {5, nan}, {nan, nan}}, [][]int{{1}, {0, 2}, {3}}},
		"no circle where something is missing": {[][]float64{{0, nan, 1}, {1, 0, nan}, {nan, 1, 0}}, [][]int{{0, 1, 2}}},
		"endless":                              {[][]float64{{math.Inf(1), 0}, {math.Inf(-1), 0}}, [][]int{{1}, {0}}},
	} {
		if diff := cmp.Diff(c.want, tune.Fronts(c.points)); diff != "" {
			t.Errorf("%s: want - got +\n%s", name, diff)
		}
	}
}
