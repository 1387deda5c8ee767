package tune

import "math"

// MaxPoints is about how many points of a curve a log's entry should hold.
const MaxPoints = 100

// Best is the first of a curve's best points; false if no value is a number.
func (o Objective) Best(curve []Point) (best Point, there bool) {
	for _, p := range curve {
		if !math.IsNaN(p.Value) && (!there || o.Direction.Better(p.Value, best.Value)) {
			best, there = p, true
		}
	}
	return best, there
}

// Thin is what a log should hold of a curve: all of a short one; of a longer one its first point,
// its last, its best, and others evenly, MaxPoints and two at most.
func (o Objective) Thin(curve []Point) (thin []Point) {
	best, _ := o.Best(curve)
	last := len(curve) - 1
	for i, p := range curve {
		even := i*MaxPoints/len(curve) != (i-1)*MaxPoints/len(curve)
		if len(curve) <= MaxPoints || even || i == 0 || i == last || p == best {
			thin = append(thin, p)
		}
	}
	return thin
}
