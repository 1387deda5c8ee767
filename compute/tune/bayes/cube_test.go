package bayes

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/compute/tune/space"
)

func TestAPointIsThatOfItsValues(t *testing.T) {
	t.Parallel()
	c := newCube(network)
	random := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		genes := make([]float64, len(c.parameters))
		for d := range genes {
			genes[d] = random.Float64()
		}
		spot := c.spot(genes)
		if again := c.of(spot.values); !slices.Equal(again.point, spot.point) || again.values.Key() != spot.values.Key() {
			t.Fatalf("%v is at %v and, by its values, at %v", spot.values, spot.point, again.point)
		}
	}
}

func TestWhatIsNotActiveMakesNoDifference(t *testing.T) {
	t.Parallel()
	c := newCube(network)
	a := c.spot([]float64{0.1, 0.2, 0.3, 0.4}) // sgd: momentum counts
	b := c.spot([]float64{0.9, 0.2, 0.3, 0.4}) // adam: it doesn't count
	d := c.spot([]float64{0.9, 0.2, 0.8, 0.4})
	if !slices.Equal(b.point, d.point) {
		t.Errorf("an inactive momentum moves %v to %v", b.point, d.point)
	}
	if slices.Equal(a.active, b.active) {
		t.Errorf("momentum is as active with sgd as with adam: %v", a.active)
	}
}

func TestWhatHasOneValueIsNoDimension(t *testing.T) {
	t.Parallel()
	with := append(slices.Clone(network), space.Parameter{Name: "normed", Kind: space.Boolean})
	if c, want := newCube(with), []bool{true, false, false, false, true}; !slices.Equal(c.nominal, want) {
		t.Errorf("nominal: %v, expected %v; the fixed and the single value are no dimensions", c.nominal, want)
	}
}

// network has a condition, a fixed value and one parameter of a single value.
var network = space.Space{
	{Name: "optimizer", Kind: space.Choice, Choices: []any{"sgd", "adam"}},
	{Name: "rate", Kind: space.Float, Min: 1e-5, Max: 0.1, Sampling: space.Log},
	{Name: "momentum", Kind: space.Float, Min: 0, Max: 0.9, Step: 0.1, Sampling: space.Linear,
		Conditions: []space.Condition{{Parent: "optimizer", Values: []any{"sgd"}}}},
	{Name: "units", Kind: space.Int, Min: 8, Max: 512, Sampling: space.Log},
	{Name: "classes", Kind: space.Fixed, Fixed: int64(3)},
	{Name: "depth", Kind: space.Int, Min: 2, Max: 2, Sampling: space.Linear},
}
