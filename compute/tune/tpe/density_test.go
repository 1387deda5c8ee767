package tpe_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stoker-ml/stoker/compute/tune/tpe"
)

func at(x float64) tpe.Cell { return tpe.Cell{Low: x, High: x} }

// axes are a number without steps, one with four, and a choice of three.
var axes = []tpe.Axis{{}, {}, {Choices: 3}}

var points = [][]tpe.Cell{
	{at(0.1), {Low: 0, High: 0.25}, at(0)},
	{at(0.15), {Low: 0.25, High: 0.5}, at(0)},
	{at(0.9), {Low: 0.75, High: 1}, at(2)},
}

// whole returns the density's sum over all values of the axes after the first.
func whole(d *tpe.Density, x float64) (sum float64) {
	for step := range 4 {
		for choice := range 3 {
			low := float64(step) / 4
			sum += math.Exp(d.Log([]tpe.Cell{at(x), {Low: low, High: low + 0.25}, at(float64(choice))}))
		}
	}
	return sum
}

func TestADensityIsOneInAll(t *testing.T) {
	t.Parallel()
	for n := range len(points) + 1 {
		d := tpe.New(axes, points[:n], []float64{1, 0.5, 2}[:n])
		sum, strips := 0.0, 2000
		for i := range strips {
			sum += whole(d, (float64(i)+0.5)/float64(strips)) / float64(strips)
		}
		if math.Abs(sum-1) > 1e-5 { // the middles of 2,000 strips of a bell no narrower than 0.1
			t.Errorf("%d points: expected 1, got %v", n, sum)
		}
	}
}

func TestDrawsFallAsTheDensitySays(t *testing.T) {
	t.Parallel()
	d := tpe.New(axes, points, []float64{1, 0.5, 2})
	random, draws := rand.New(rand.NewPCG(1, 2)), 100_000
	counted := map[string]int{}
	for range draws {
		place := d.Draw(random.Float64)
		counted[fmt.Sprint(math.Floor(place[0]*4), math.Floor(place[1]*4), place[2])]++
	}
	for first := range 4 {
		for second := range 4 {
			for choice := range 3 {
				a, b := float64(first)/4, float64(second)/4
				want := math.Exp(d.Log([]tpe.Cell{{Low: a, High: a + 0.25}, {Low: b, High: b + 0.25}, at(float64(choice))}))
				got := float64(counted[fmt.Sprint(first, second, choice)]) / float64(draws)
				// Five standard deviations of a count.
				if math.Abs(got-want) > 5*math.Sqrt(want/float64(draws)) {
					t.Errorf("cell %d, %d, %d: expected a share of %v, got %v", first, second, choice, want, got)
				}
			}
		}
	}
}

// A density of one axis has its kernels in closed form: for one point at 0.5, a bell as wide as
// Bergstra's limit for two parts, 1/3, and the prior, both cut off at 0 and 1.
func TestADensityOfOnePointIsThatOfTheFormula(t *testing.T) {
	t.Parallel()
	d := tpe.New([]tpe.Axis{{}}, [][]tpe.Cell{{at(0.5)}}, []float64{1})
	bell := func(x, deviation float64) float64 {
		z := (x - 0.5) / deviation
		return math.Exp(-z*z/2) / (deviation * math.Sqrt(2*math.Pi) * math.Erf(0.5/deviation/math.Sqrt2))
	}
	for _, x := range []float64{0, 0.3, 0.5, 1} {
		want := bell(x, 1./3)/2 + bell(x, 1)/2
		if got := math.Exp(d.Log([]tpe.Cell{at(x)})); math.Abs(got-want) > 1e-12 {
			t.Errorf("at %v: expected %v, got %v", x, want, got)
		}
	}
}

func TestAChoiceThatOthersHangOnIsSharedMore(t *testing.T) {
	t.Parallel()
	points, weights := make([][]tpe.Cell, 20), make([]float64, 20)
	for i := range points {
		points[i], weights[i] = []tpe.Cell{at(0)}, 1
	}
	leaf := tpe.New([]tpe.Axis{{Choices: 3}}, points, weights)
	branch := tpe.New([]tpe.Axis{{Choices: 3, Branches: true}}, points, weights)
	never := []tpe.Cell{at(1)}
	if leaf, branch := math.Exp(leaf.Log(never)), math.Exp(branch.Log(never)); leaf > 0.1 || branch < 0.15 {
		t.Errorf("expected a choice that was never good to be drawn less than once in 10 times, and more than 3 in 20 where it "+
			"branches, got %v and %v", leaf, branch)
	}
}

func TestWhatGoesTogetherIsDrawnTogether(t *testing.T) {
	t.Parallel()
	var points [][]tpe.Cell
	var weights []float64
	for i := range 20 {
		x := float64(i) / 19
		points, weights = append(points, []tpe.Cell{at(x), at(x)}), append(weights, 1)
	}
	d := tpe.New([]tpe.Axis{{}, {}}, points, weights)
	if on, off := d.Log([]tpe.Cell{at(0.2), at(0.2)}), d.Log([]tpe.Cell{at(0.2), at(0.8)}); on < off+1 {
		t.Errorf("expected a place on the line to be e times as likely as one off it, got logarithms %v and %v", on, off)
	}
}

func BenchmarkLogOfOneInAThousand(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	axes, points, weights := make([]tpe.Axis, 6), make([][]tpe.Cell, 1000), make([]float64, 1000)
	for i := range points {
		weights[i] = 1
		for range axes {
			points[i] = append(points[i], at(random.Float64()))
		}
	}
	d := tpe.New(axes, points, weights)
	for b.Loop() {
		d.Log(points[0])
	}
}
