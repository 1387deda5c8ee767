package drift

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// Distance is how far apart the distributions of one feature are in two data sets, from 0, equal,
// to 1.
type Distance struct {
	Feature string
	Measure string // what was measured, in words
	Value   float64
}

func (d Distance) String() string {
	return fmt.Sprintf("feature %q: %s is %.3g", d.Feature, d.Measure, d.Value)
}

// The measures that TensorFlow Data Validation uses for drift.
const (
	measureNumbers = "Jensen-Shannon divergence"
	measureLabels  = "L-infinity distance"
	measureMissing = "difference of the share of examples without it"
	measureThere   = "presence in one data set alone"
)

// Farthest returns the feature whose distribution differs most. Numbers are compared by the
// Jensen-Shannon divergence, to base 2, of their histograms, with values that are not a number as a
// bucket of their own; strings by the L-infinity distance of their frequencies; all features by the
// share of examples that lack them. A feature that only one data set has is 1 apart. Without
// features it is the zero Distance.
func (s Statistics) Farthest(other Statistics) (farthest Distance) {
	names := map[string]bool{}
	for name := range s.features {
		names[name] = true
	}
	for name := range other.features {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		a, inA := s.features[name]
		b, inB := other.features[name]
		d := Distance{Feature: name, Measure: measureThere, Value: 1}
		if inA && inB {
			d = distanceOf(a, b)
			d.Feature = name
		}
		if d.Value > farthest.Value {
			farthest = d
		}
	}
	return farthest
}

func distanceOf(a, b distribution) Distance {
	farthest := Distance{Measure: measureMissing, Value: math.Abs(share(a.missing, a.present) - share(b.missing, b.present))}
	if d := labelDistance(a, b); d > farthest.Value {
		farthest = Distance{Measure: measureLabels, Value: d}
	}
	if d := divergence(a, b); d > farthest.Value {
		farthest = Distance{Measure: measureNumbers, Value: d}
	}
	return farthest
}

func share(part, rest float64) float64 {
	if part+rest == 0 {
		return 0
	}
	return part / (part + rest)
}

// labelDistance returns the largest difference of a value's frequency. The difference from a side
// without values is 1.
func labelDistance(a, b distribution) (farthest float64) {
	if a.labelled == 0 || b.labelled == 0 {
		return differInPresence(a.labelled, b.labelled)
	}
	for label, count := range a.labels {
		farthest = max(farthest, math.Abs(count/a.labelled-b.labels[label]/b.labelled))
	}
	for label, count := range b.labels {
		farthest = max(farthest, math.Abs(count/b.labelled-a.labels[label]/a.labelled))
	}
	return farthest
}

func differInPresence(a, b float64) float64 {
	if (a == 0) != (b == 0) {
		return 1
	}
	return 0
}

func sum(values []float64) (total float64) {
	for _, v := range values {
		total += v
	}
	return total
}

// divergence returns the Jensen-Shannon divergence, to base 2, of two histograms of numbers.
func divergence(a, b distribution) (d float64) {
	edges := edgesOf(a.numbers, b.numbers)
	p, q := spread(a, edges), spread(b, edges)
	sumP, sumQ := sum(p), sum(q)
	if sumP == 0 || sumQ == 0 {
		return differInPresence(sumP, sumQ)
	}
	for i := range p {
		x, y := p[i]/sumP, q[i]/sumQ
		middle := (x + y) / 2
		if x > 0 {
			d += x / 2 * math.Log2(x/middle)
		}
		if y > 0 {
			d += y / 2 * math.Log2(y/middle)
		}
	}
	return min(max(d, 0), 1) // rounding
}

// edgesOf returns the finite edges of all buckets, in order, each once.
func edgesOf(all ...[]bucket) (edges []float64) {
	for _, buckets := range all {
		for _, b := range buckets {
			for _, edge := range []float64{b.low, b.high} {
				if !math.IsInf(edge, 0) {
					edges = append(edges, edge)
				}
			}
		}
	}
	slices.Sort(edges)
	return slices.Compact(edges)
}

// spread splits a histogram's buckets at the edges. The result has, for each edge, the number of
// values that are equal to it; one number for each interval between two edges; and the numbers of
// values that are negative infinity, positive infinity, or not a number.
func spread(d distribution, edges []float64) []float64 {
	n := len(edges)
	cut := make([]float64, 2*n+3)
	below, above, nan := &cut[2*n], &cut[2*n+1], &cut[2*n+2]
	*nan = d.nan
	for _, b := range d.numbers {
		switch {
		case math.IsInf(b.low, 0) || math.IsInf(b.high, 0):
			if math.IsInf(b.low, -1) {
				*below += b.count
			} else {
				*above += b.count
			}
		case b.low == b.high:
			i, _ := slices.BinarySearch(edges, b.low)
			cut[i] += b.count
		default:
			first, _ := slices.BinarySearch(edges, b.low)
			for i := first; i+1 < n && edges[i] < b.high; i++ {
				// Halves, since the width of a bucket may be more than the largest number.
				cut[n+i] += b.count * ((edges[i+1]/2 - edges[i]/2) / (b.high/2 - b.low/2))
			}
		}
	}
	return cut
}
