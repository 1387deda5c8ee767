package bayes

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/samplemv"

	"github.com/stoker-ml/stoker/compute/tune/space"
)

const (
	everywhere = 2048 // spots that are examined all over the space
	nearby     = 256  // and around the best observations
	starts     = 10   // of them, from which a higher spot is searched
	looks      = 300  // evaluations of spots, to find these starts
)

// Propose returns the values that are most worth trying; false if none was found that was not
// tried. There must be an observation.
func (s Search) Propose() (space.Values, bool, error) {
	c := newCube(s.Space)
	surface, err := s.surface(c)
	if err != nil {
		return nil, false, err
	}
	spots := surface.highest(s.candidates(c))
	up := climber{c, surface}
	for _, spot := range spots[:min(starts, len(spots))] {
		spots = append(spots, up.climb(spot))
	}
	slices.SortStableFunc(spots, downwards)
	for _, spot := range spots {
		if !s.Had[spot.values.Key()] {
			return spot.values, true, nil
		}
	}
	return nil, false, nil
}

func downwards(a, b climbed) int { return cmp.Compare(b.worth, a.worth) }

// candidates returns spots that were not tried: all of a small space, else some all over it, and
// some around the best ones.
func (s Search) candidates(c cube) []spot {
	var spots []spot
	known := map[string]bool{}
	add := func(spot spot) {
		if key := spot.values.Key(); !s.Had[key] && !known[key] {
			known[key] = true
			spots = append(spots, spot)
		}
	}
	if size := s.Space.Size(); size > 0 && size <= everywhere {
		for values := range s.Space.Points() {
			add(c.of(values))
		}
		return spots
	}
	random := rand.New(source(s.Stream))
	for range everywhere {
		genes := make([]float64, len(c.parameters))
		for d := range genes {
			genes[d] = random.Float64()
		}
		add(c.spot(genes))
	}
	best := s.best(3)
	for i := range nearby {
		if len(best) > 0 {
			add(c.spot(c.mutate(c.of(best[i%len(best)].Values).genes, random)))
		}
	}
	return spots
}

// mutate returns genes around others, at various distances: most of them very near.
func (c cube) mutate(genes []float64, random *rand.Rand) []float64 {
	width := math.Pow(10, -2.5*random.Float64()) / 2
	for d, gene := range genes {
		switch {
		case !c.nominal[d]:
			genes[d] = min(max(gene+width*random.NormFloat64(), 0), 1)
		case random.Float64() < width:
			genes[d] = random.Float64()
		}
	}
	return genes
}

// best returns the n best observations that satisfy the constraints.
func (s Search) best(n int) []Seen {
	best := slices.DeleteFunc(slices.Clone(s.Seen), func(seen Seen) bool { return math.IsNaN(seen.Score) || !seen.allowed() })
	slices.SortStableFunc(best, func(a, b Seen) int { return cmp.Compare(a.Score, b.Score) })
	return best[:min(n, len(best))]
}

// source returns a source of many random numbers, seeded by a stream.
func source(stream space.Stream) rand.Source {
	seed := func(draw int) uint64 { return uint64(stream.Float64("bayesian", draw) * (1 << 53)) }
	return rand.NewPCG(seed(0), seed(1))
}

// highest returns the highest of spots, in descending order, each some distance from those above
// it. An upper bound of a spot's value is cheap, so few spots are evaluated exactly.
func (s *surface) highest(spots []spot) []climbed {
	rough := make([]climbed, len(spots))
	for i, spot := range spots {
		rough[i] = climbed{spot, s.rough(spot.point)}
	}
	slices.SortStableFunc(rough, downwards)
	var sure []climbed
	for i, spot := range rough[:min(looks, len(rough))] {
		if i >= 2*starts && spot.worth < sure[2*starts-1].worth {
			break
		}
		spot.worth = s.at(spot.point)
		at, _ := slices.BinarySearchFunc(sure, spot, downwards)
		sure = slices.Insert(sure, at, spot)
	}
	return apart(sure)
}

// apart moves spots that are close to one above them behind the others.
func apart(spots []climbed) []climbed {
	var first, later []climbed
	for _, spot := range spots {
		if slices.ContainsFunc(first, func(above climbed) bool { return near(above.point, spot.point) }) {
			later = append(later, spot)
		} else {
			first = append(first, spot)
		}
	}
	return append(first, later...)
}

// near reports whether two points are less than a twentieth of the cube apart, on average over
// dimensions.
func near(a, b []float64) bool {
	sum := 0.0
	for d := range a {
		sum += math.Abs(a[d] - b[d])
	}
	return sum < 0.05*float64(len(a))
}

const (
	most = 400 // observations that a model is made from: its time grows with their square
	// Observations that are dropped at a time, so that most models are the previous one plus a
	// point.
	steps = 50
	cream = 100 // of those that are dropped, the best stay
)

// recent returns the observations without those that say little by now: if there are more than
// most, the oldest that are not among their best.
func recent(all []Seen) []Seen {
	if len(all) <= most {
		return all
	}
	over := (len(all) - most + steps - 1) / steps * steps
	old := slices.Clone(all[:over+cream])
	slices.SortStableFunc(old, func(a, b Seen) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Score, b.Score))
	})
	return append(old[:cream:cream], all[over+cream:]...)
}

// rank is 0 for observations that satisfy the constraints, 1 for those that don't, 2 for those
// without a score.
func rank(seen Seen) int {
	switch {
	case math.IsNaN(seen.Score):
		return 2
	case !seen.allowed():
		return 1
	}
	return 0
}

// Search is what is known when values are to be proposed.
type Search struct {
	Space space.Space
	Seen  []Seen // in the order of observation: kernels are fitted to a beginning of it
	// Of older studies of other data: what they predict counts as far as it agrees with Seen.
	Earlier [][]Seen
	Pending []space.Values  // being tried
	Had     map[string]bool // keys of values that are not proposed because they were tried
	Stream  space.Stream    // of the next trial
	// If not 0, values are judged by mean - Beta deviations, and not by expected improvement.
	Beta float64
}

// Seen is the observed result of values.
type Seen struct {
	Values space.Values
	Score  float64 // less is better; NaN if there is none, which is as bad as the worst
	// How much each constraint is violated: 0 and below mean that it is satisfied; NaN if that is
	// not known.
	Excess []float64
}

// allowed reports whether all constraints hold.
func (s Seen) allowed() bool {
	for _, excess := range s.Excess {
		if !(excess <= 0) {
			return false
		}
	}
	return true
}

// Spread returns n values that are spread evenly in a space, after the first so many: points of a
// scrambled Halton sequence, which is the same for all streams of equal seed and trial.
func Spread(in space.Space, stream space.Stream, first, n int) []space.Values {
	c := newCube(in)
	d := len(c.parameters)
	switch {
	case n <= 0:
		return nil
	case d == 0:
		return []space.Values{in.Defaults()}
	}
	batch := mat.NewDense(first+n, d, nil)
	samplemv.Halton{Kind: samplemv.Owen, Q: distmv.NewUnitUniform(d, nil), Src: source(stream)}.Sample(batch)
	values := make([]space.Values, n)
	for i := range values {
		values[i] = c.spot(batch.RawRowView(first + i)).values
	}
	return values
}
