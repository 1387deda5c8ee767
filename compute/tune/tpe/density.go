package tpe

import "math"

// Density is a mixture of kernels on several axes at once, one around each of some points, and one,
// the prior, that is everywhere. So values that occur together on several axes are drawn together.
type Density struct {
	kernels [][]kernel // of each part of the mixture, by axis
	shares  []float64  // of each part; they add up to 1
}

// Axis is a dimension.
type Axis struct {
	Choices int // number of choices, which have no order; 0: numbers

	// Branches means that other parameters depend on the choice. How good a choice is shows only
	// when good values of these are found, so it is tried more often than its first results
	// suggest.
	Branches bool
}

// Cell is the position of a value on its axis. For a number it is the part of [0, 1] that the value
// covers; Low and High are equal if there are no steps; for a choice both are its index.
type Cell struct{ Low, High float64 }

func (c Cell) middle() float64 { return (c.Low + c.High) / 2 }

// The weights of the prior's bell and of the share that a choice has of all others, relative to a
// point of weight 1: as many as there are points.
const (
	priorMean      = 0.5
	priorDeviation = 1
	priorWeight    = 1
	sharing        = 1
	branchSharing  = 20
)

// New returns the density around some points, each with a weight; the prior's weight is 1.
func New(axes []Axis, points [][]Cell, weights []float64) *Density {
	total := float64(priorWeight)
	for _, weight := range weights {
		total += weight
	}
	d := &Density{}
	for i := range points {
		d.kernels = append(d.kernels, make([]kernel, len(axes)))
		d.shares = append(d.shares, weights[i]/total)
	}
	d.kernels = append(d.kernels, make([]kernel, len(axes)))
	d.shares = append(d.shares, priorWeight/total)
	for a, axis := range axes {
		d.fill(a, axis, points, weights)
	}
	return d
}

// fill makes the kernels of one axis.
func (d *Density) fill(a int, axis Axis, points [][]Cell, weights []float64) {
	last := len(points)
	if axis.Choices > 0 {
		shared := sharing / float64(last+1)
		if axis.Branches {
			shared = branchSharing / float64(last+1)
		}
		for i, point := range points {
			d.kernels[i][a] = choice(axis.Choices, int(point[a].Low), shared)
		}
		d.kernels[last][a] = evenly(axis.Choices)
		return
	}
	width := d.width(a, points, weights)
	for i, point := range points {
		d.kernels[i][a] = bell(point[a].middle(), width)
	}
	d.kernels[last][a] = bell(priorMean, priorDeviation)
}

// width returns the deviation of an axis's bells. With n for the points and the prior, d axes, and
// s for the weighted standard deviation of the points together with one evenly spread over [0, 1],
// it is four fifths of Scott's (1992). It is limited from above to that of s = 0.25, because points
// in several clusters are not one wide bell, and from below to Bergstra's value, so that a few
// points are not needles:
//
//	max(min(0.8 s, 0.2) n^(-1/(d+4)), 1/(n+1))
func (d *Density) width(a int, points [][]Cell, weights []float64) float64 {
	total, mean, square := 1.0, 0.5, 1./3
	for i, point := range points {
		x := point[a].middle()
		total += weights[i]
		mean += weights[i] * x
		square += weights[i] * x * x
	}
	mean /= total
	deviation := math.Sqrt(max(square/total-mean*mean, 0))
	n, axes := float64(len(points)+1), float64(len(d.kernels[0]))
	return max(min(0.8*deviation, 0.2)*math.Pow(n, -1/(axes+4)), 1/(n+1))
}

// Draw returns a place on each axis, from random numbers in [0, 1): for numbers one in [0, 1], for
// choices an index.
func (d *Density) Draw(uniform func() float64) []float64 {
	part := d.kernels[pick(d.shares, uniform())]
	place := make([]float64, len(part))
	for a, kernel := range part {
		place[a] = kernel.draw(uniform())
	}
	return place
}

// Log returns the logarithm of the density at a value; for steps and choices it is a probability
// instead.
//
//	ln sum_k share_k prod_a kernel_k,a(value_a)
func (d *Density) Log(value []Cell) float64 {
	logs, top := make([]float64, len(d.kernels)), math.Inf(-1)
	for k, part := range d.kernels {
		logs[k] = math.Log(d.shares[k])
		for a, kernel := range part {
			logs[k] += kernel.log(value[a])
		}
		top = max(top, logs[k])
	}
	sum := 0.0
	for _, log := range logs {
		sum += math.Exp(log - top)
	}
	return top + math.Log(sum)
}

// pick returns the index that a number from [0, 1) falls on, among shares that add up to 1.
func pick(shares []float64, u float64) int {
	for i, share := range shares[:len(shares)-1] {
		if u < share {
			return i
		}
		u -= share
	}
	return len(shares) - 1
}
