package bayes

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stoker-ml/stoker/compute/tune/space"
)

func TestAgreementIsOneAtMostAndNeverNegative(t *testing.T) {
	t.Parallel()
	up, down := make([]float64, 50), make([]float64, 50)
	for i := range up {
		up[i], down[i] = float64(i), -float64(i)
	}
	if same := Agreement(up, up); same > 1 || same < 0.9 {
		t.Errorf("the same order: expected nearly 1, got %v", same)
	}
	if opposite := Agreement(up, down); opposite != 0 {
		t.Errorf("the opposite order: expected 0, got %v", opposite)
	}
	if one := Agreement(up[:1], up[:1]); one != 0 {
		t.Errorf("one result has no order: expected 0, got %v", one)
	}
	if flat := Agreement(make([]float64, 50), up); flat != 0 {
		t.Errorf("equal predictions: expected 0, got %v", flat)
	}
	random, sum := rand.New(rand.NewPCG(1, 2)), 0.0
	for range 200 {
		for i := range down {
			down[i] = random.Float64()
		}
		sum += Agreement(down, up) / 200
	}
	if sum > 0.02 {
		t.Errorf("predictions by chance: expected a mean near 0, got %v", sum)
	}
}

// plane is a space of two numbers.
var plane = space.Space{
	{Name: "x", Kind: space.Float, Max: 1, Sampling: space.Linear},
	{Name: "y", Kind: space.Float, Max: 1, Sampling: space.Linear},
}

// observed returns observations of a function at random points of the plane.
func observed(n int, seed uint64, of func(x, y float64) float64) (all []Seen) {
	random := rand.New(rand.NewPCG(seed, 0))
	for range n {
		x, y := random.Float64(), random.Float64()
		all = append(all, Seen{Values: space.Values{{Name: "x", Of: x}, {Name: "y", Of: y}}, Score: of(x, y)})
	}
	return all
}

func valley(x, y float64) float64 { return (x-0.7)*(x-0.7) + (y-0.2)*(y-0.2) }

// searchFrom is a search of the valley after a few trials, with an older study of a function.
func searchFrom(of func(x, y float64) float64) Search {
	s := Search{Space: plane, Seen: observed(8, 1, valley), Stream: space.NewStream(1, 8)}
	if of != nil {
		s.Earlier = [][]Seen{observed(40, 2, of)}
	}
	return s
}

func TestAnOlderStudyThatAgreesIsFollowed(t *testing.T) {
	t.Parallel()
	// The same shape in another unit, with another offset.
	s := searchFrom(func(x, y float64) float64 { return 1e6*valley(x, y) - 5e5 })
	c := newCube(s.Space)
	with, err := s.surface(c)
	if err != nil {
		t.Fatal(err)
	}
	without, err := searchFrom(nil).surface(c)
	if err != nil {
		t.Fatal(err)
	}
	order := func(of *surface) float64 {
		var predicted, true []float64
		for i := range 100 {
			x, y := float64(i/10)/9, float64(i%10)/9
			mean, _ := of.objective.Mean([]float64{x, y})
			predicted, true = append(predicted, mean), append(true, valley(x, y))
		}
		return Agreement(predicted, true)
	}
	if a, b := order(with), order(without); a <= b {
		t.Errorf("expected predictions whose order is nearer the true one with the older study, got an agreement of %v, and %v without", a, b)
	}
}

func TestAnOlderStudyThatDisagreesChangesNothing(t *testing.T) {
	t.Parallel()
	cold, _, err := searchFrom(nil).Propose()
	if err != nil {
		t.Fatal(err)
	}
	warm, _, err := searchFrom(func(x, y float64) float64 { return -valley(x, y) }).Propose()
	if err != nil {
		t.Fatal(err)
	}
	if cold.Key() != warm.Key() {
		t.Errorf("expected the proposal without it, %v, got %v", cold, warm)
	}
}

func TestTheSlopeOfAnInformedPredictionIsItsSlope(t *testing.T) {
	t.Parallel()
	s := searchFrom(func(x, y float64) float64 { return 3 * valley(x, y) })
	surface, err := s.surface(newCube(s.Space))
	if err != nil {
		t.Fatal(err)
	}
	p, ok := surface.objective.(informed)
	if !ok {
		t.Fatalf("expected an older study that agrees to be followed, got a %T", surface.objective)
	}
	x, byMean, byVariance := []float64{0.4, 0.6}, make([]float64, 2), make([]float64, 2)
	mean, variance := p.Slope(x, byMean, byVariance)
	if m, v := p.At(x); math.Abs(m-mean) > 1e-12 || math.Abs(v-variance) > 1e-12 {
		t.Errorf("At: expected %v and %v as Slope says, got %v and %v", mean, variance, m, v)
	}
	if m, _ := p.Mean(x); math.Abs(m-mean) > 1e-12 {
		t.Errorf("Mean: expected %v as Slope says, got %v", mean, m)
	}
	const h = 1e-6
	for d := range x {
		at := func(by float64) float64 {
			moved := []float64{x[0], x[1]}
			moved[d] += by
			mean, _ := p.At(moved)
			return mean
		}
		if want := (at(h) - at(-h)) / (2 * h); math.Abs(byMean[d]-want) > 1e-5 {
			t.Errorf("dimension %d: expected the slope %v, got %v", d, want, byMean[d])
		}
	}
}
