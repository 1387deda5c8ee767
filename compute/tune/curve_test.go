package tune_test

import (
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/compute/tune"
)

func TestALongCurveIsThinnedToItsEndsItsBestAndSomeBetween(t *testing.T) {
	t.Parallel()
	curve := make([]tune.Point, 5000)
	for i := range curve {
		curve[i] = tune.Point{Step: i + 1, Value: 1}
	}
	curve[1233].Value, curve[2345].Value = 0, 2
	for direction, best := range map[tune.Direction]tune.Point{tune.Min: curve[1233], tune.Max: curve[2345]} {
		o := tune.Objective{Name: "loss", Direction: direction}
		thin := o.Thin(curve)
		if len(thin) < tune.MaxPoints || len(thin) > tune.MaxPoints+2 {
			t.Errorf("%s: %d points, want about %d", direction, len(thin), tune.MaxPoints)
		}
		for _, want := range []tune.Point{curve[0], curve[len(curve)-1], best} {
			if !slices.Contains(thin, want) {
				t.Errorf("%s: %v is left out", direction, want)
			}
		}
		if !slices.IsSortedFunc(thin, func(a, b tune.Point) int { return a.Step - b.Step }) {
			t.Errorf("%s: the points are out of order", direction)
		}
		short := curve[:tune.MaxPoints]
		if got := o.Thin(short); !slices.Equal(got, short) {
			t.Errorf("%s: of a short curve are left %d points", direction, len(got))
		}
		if got := o.Thin(nil); got != nil {
			t.Errorf("%s: of no curve comes %v", direction, got)
		}
	}
}
