package tpe

import "math"

// Density is a mixture of kernels on several axes at once, one around each of some points, and one,
// the prior, that is everywhere. So values that occur together on several axes are drawn together.
// It is for one goroutine at a time: it keeps what it has computed.
type Density struct {
	parts  [][]int   // of the mixture, the prior last: the index of its kernel on each axis
	shares []float64 // of each part; they add up to 1
	logs   []float64 // of shares
	axes   []kernels
}

// kernels are those of one axis. Points with the same value share one.
type kernels struct {
	all   []kernel
	recur map[Cell][]float64 // log of each kernel at a choice, or at a value that covers a part
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
	d := &Density{axes: make([]kernels, len(axes))}
	indices := make([]int, (len(points)+1)*len(axes))
	for i := range len(points) + 1 {
		d.parts = append(d.parts, indices[i*len(axes):(i+1)*len(axes)])
		weight := float64(priorWeight)
		if i < len(points) {
			weight = weights[i]
		}
		d.shares = append(d.shares, weight/total)
		d.logs = append(d.logs, math.Log(weight/total))
	}
	for a, axis := range axes {
		d.fill(a, axis, points, weights)
	}
	return d
}

// fill makes the kernels of one axis.
func (d *Density) fill(a int, axis Axis, points [][]Cell, weights []float64) {
	around, prior := axis.kernels(len(points)+1, func() float64 { return width(a, len(d.axes), points, weights) })
	on, known := &d.axes[a], map[Cell]int{}
	on.recur = map[Cell][]float64{}
	for i, point := range points {
		index, there := known[point[a]]
		if !there {
			index = len(on.all)
			known[point[a]] = index
			on.all = append(on.all, around(point[a]))
		}
		d.parts[i][a] = index
	}
	d.parts[len(points)][a] = len(on.all)
	on.all = append(on.all, prior)
}

// kernels returns how to make the kernel around a value, in a mixture of n parts, and the prior.
func (a Axis) kernels(n int, width func() float64) (around func(Cell) kernel, prior kernel) {
	if a.Choices == 0 {
		deviation := width()
		return func(at Cell) kernel { return bell(at.middle(), deviation) }, bell(priorMean, priorDeviation)
	}
	shared := sharing / float64(n)
	if a.Branches {
		shared = branchSharing / float64(n)
	}
	return func(at Cell) kernel { return choice(a.Choices, int(at.Low), shared) }, evenly(a.Choices)
}

// width returns the deviation of the bells of axis a. With n for the points and the prior, d axes,
// and s for the weighted standard deviation of the points together with one evenly spread over [0,
// 1], it is four fifths of Scott's (1992). It is limited from above to that of s = 0.25, because
// points in several clusters are not one wide bell, and from below to Bergstra's value, so that a
// few points are not needles:
//
//	max(min(0.8 s, 0.2) n^(-1/(d+4)), 1/(n+1))
func width(a, axes int, points [][]Cell, weights []float64) float64 {
	total, mean, square := 1.0, 0.5, 1./3
	for i, point := range points {
		x := point[a].middle()
		total += weights[i]
		mean += weights[i] * x
		square += weights[i] * x * x
	}
	mean /= total
	deviation := math.Sqrt(max(square/total-mean*mean, 0))
	n := float64(len(points) + 1)
	return max(min(0.8*deviation, 0.2)*math.Pow(n, -1/(float64(axes)+4)), 1/(n+1))
}

// Draw returns a place on each axis, from random numbers in [0, 1): for numbers one in [0, 1], for
// choices an index.
func (d *Density) Draw(uniform func() float64) []float64 {
	part := d.parts[pick(d.shares, uniform())]
	place := make([]float64, len(part))
	for a, kernel := range part {
		place[a] = d.axes[a].all[kernel].draw(uniform())
	}
	return place
}

// Log returns the logarithm of the density at a value; for steps and choices it is a probability
// instead.
//
//	ln sum_k share_k prod_a kernel_k,a(value_a)
func (d *Density) Log(value []Cell) float64 {
	of := make([][]float64, len(d.axes))
	for a := range d.axes {
		of[a] = d.axes[a].log(value[a])
	}
	logs, top := make([]float64, len(d.parts)), math.Inf(-1)
	for k, part := range d.parts {
		log := d.logs[k]
		for a, kernel := range part {
			log += of[a][kernel]
		}
		logs[k], top = log, max(top, log)
	}
	sum := 0.0
	for _, log := range logs {
		sum += math.Exp(log - top)
	}
	return top + math.Log(sum)
}

// log returns the logarithm of each kernel at a value.
func (k kernels) log(at Cell) []float64 {
	if logs, there := k.recur[at]; there {
		return logs
	}
	logs := make([]float64, len(k.all))
	for i, kernel := range k.all {
		logs[i] = kernel.log(at)
	}
	if _, choice := k.all[0].(choices); choice || at.Low < at.High {
		k.recur[at] = logs
	}
	return logs
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
