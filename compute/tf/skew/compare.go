package skew

import (
	"maps"
	"math"
	"slices"
	"strings"
)

// comparison collects the values that are compared.
type comparison struct {
	tolerance float64
	// Rounding of the answers that are compared now, by output; nil: not needed yet.
	rounding    map[string][]rounding
	undecided   int // answers whose class depends on rounding alone
	rows        int
	maxAbs      float64
	differences []Difference
}

// pair is one row of an output, and its expected value.
type pair struct {
	row          int
	served, want values
}

// compare compares an output or a feature over all rows.
func (v *verdict) compare(of, name string, pairs []pair) {
	usual := usualSize(pairs)
	rounded := v.rounding[name]
	for _, p := range pairs {
		size := 1 + max(usual, p.want.largest())
		allowed := v.tolerance * size
		if p.row < len(rounded) {
			allowed += min(roundingFactor*rounded[p.row].distance, maxRounding*size)
		}
		distance, same := p.served.apart(p.want, allowed)
		v.maxAbs = max(v.maxAbs, distance)
		if !same && p.row < len(rounded) && rounded[p.row].other && !p.served.isLike(p.want) {
			v.undecided++
			continue
		}
		if !same && len(v.differences) < maxDifferences {
			v.differences = append(v.differences, Difference{
				By: v.by, Row: p.row, Name: name, Of: of, Served: p.served.String(), Want: p.want.String(),
			})
		}
	}
	v.rows = max(v.rows, len(pairs))
}

// usualSize returns the 90th percentile of the largest number of each row, so that a few rows with
// huge numbers don't increase the tolerance of the others.
func usualSize(pairs []pair) float64 {
	if len(pairs) == 0 {
		return 0
	}
	sizes := make([]float64, len(pairs))
	for i, p := range pairs {
		sizes[i] = p.want.largest()
	}
	slices.Sort(sizes)
	return sizes[int(math.Ceil(0.9*float64(len(sizes))))-1]
}

// compareOutputs compares the served outputs with those of the model in memory.
func (c *check) compareOutputs(v *verdict, answer map[string]column) {
	common := 0
	for _, name := range slices.Sorted(maps.Keys(answer)) {
		var pairs []pair
		for i, served := range answer[name] {
			at := i
			if c.data.raw != nil {
				at = c.data.paired[i]
			}
			if at < 0 || at >= len(c.data.predictions) {
				continue
			}
			if want, ok := c.data.predictions[at][name]; ok {
				pairs = append(pairs, pair{i, served, want.like(served)})
			}
		}
		if len(pairs) > 0 {
			common++
			v.compare("output", name, pairs)
		}
	}
	if common == 0 {
		c.uncompared("no output is among the predictions that the module left, of the rows that were asked")
		return
	}
	c.noteUncompared(answer)
}

// noteUncompared reports outputs that only one of the two has.
func (c *check) noteUncompared(answer map[string]column) {
	said := map[string]bool{}
	for _, row := range c.data.predictions {
		for name := range row {
			said[name] = true
		}
	}
	unsaid, unserved := maps.Clone(answer), maps.Clone(said)
	maps.DeleteFunc(unsaid, func(name string, _ column) bool { return said[name] })
	maps.DeleteFunc(unserved, func(name string, _ bool) bool { return answer[name] != nil })
	if len(unsaid) > 0 {
		c.noteOnce("not compared, as the module said nothing of them: outputs %s", strings.Join(slices.Sorted(maps.Keys(unsaid)), ", "))
	}
	if len(unserved) > 0 {
		c.noteOnce("not compared, as the files don't answer with them: outputs %s", strings.Join(slices.Sorted(maps.Keys(unserved)), ", "))
	}
}

// compareFeatures compares transformed features with the rows that Transform wrote. If those are in
// another order, each raw row must be among them.
func (c *check) compareFeatures(v *verdict, answer map[string]column) {
	if !c.data.strict {
		c.findPairs(v, answer)
	}
	for _, name := range slices.Sorted(maps.Keys(answer)) {
		if !c.data.keeps(name) {
			continue
		}
		var pairs []pair
		for i, served := range answer[name] {
			if at := c.data.paired[i]; at >= 0 {
				pairs = append(pairs, pair{i, served, c.data.transformed[at].values(name)})
			}
		}
		v.compare("transformed feature", name, pairs)
	}
}
