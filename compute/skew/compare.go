package skew

import (
	"maps"
	"slices"
)

// comparison gathers what is compared.
type comparison struct {
	tolerance   float64
	rows        int
	maxAbs      float64
	differences []Difference
}

// pair is one row of an output, and what it should be.
type pair struct {
	row          int
	served, want values
}

// compare compares an output or a feature over all rows.
func (v *verdict) compare(of, name string, pairs []pair) {
	scale := 0.0
	for _, p := range pairs {
		scale = max(scale, p.want.largest())
	}
	for _, p := range pairs {
		distance, same := p.served.apart(p.want, v.tolerance*(1+scale))
		v.maxAbs = max(v.maxAbs, distance)
		if !same && len(v.differences) < maxDifferences {
			v.differences = append(v.differences, Difference{
				By: v.by, Row: p.row, Name: name, Of: of, Served: p.served.String(), Want: p.want.String(),
			})
		}
	}
	v.rows = max(v.rows, len(pairs))
}

// compareOutputs compares what is served with what the model in memory said.
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
				pairs = append(pairs, pair{i, served, want})
			}
		}
		if len(pairs) > 0 {
			common++
			v.compare("output", name, pairs)
		}
	}
	if common == 0 {
		c.note("no output is among the predictions that the module left, of the rows that were asked")
	}
}

// compareFeatures compares transformed features with the rows that Transform wrote. Where those stand in an order of their own,
// each raw row must be among them.
func (c *check) compareFeatures(v *verdict, answer map[string]column) {
	if !c.data.strict {
		c.findPairs(v, answer)
	}
	for _, name := range slices.Sorted(maps.Keys(answer)) {
		var pairs []pair
		for i, served := range answer[name] {
			if at := c.data.paired[i]; at >= 0 && c.data.transformed[at].features[name] != nil {
				pairs = append(pairs, pair{i, served, c.data.transformed[at].values(name)})
			}
		}
		v.compare("transformed feature", name, pairs)
	}
}

// findPairs looks for the transformed row of each raw one by what it holds. A row that isn't there is a difference, if all
// transformed rows were looked at.
func (c *check) findPairs(v *verdict, answer map[string]column) {
	names := slices.Sorted(maps.Keys(answer))
	lost, all := 0, len(c.data.transformed) < searchedRows
	for i := range c.data.paired {
		if c.data.paired[i] = c.find(v, answer, names, i); c.data.paired[i] >= 0 {
			continue
		}
		lost++
		if all && len(v.differences) < maxDifferences {
			v.differences = append(v.differences, Difference{
				By: v.by, Row: i, Name: names[0], Of: "transformed row with", Served: answer[names[0]][i].String(),
				Want: "one of those that Transform wrote",
			})
		}
	}
	if lost > 0 && !all {
		c.note("of %d raw rows the transformed ones are not among the first %d", lost, searchedRows)
	}
}

func (c *check) find(v *verdict, answer map[string]column, names []string, i int) int {
	return slices.IndexFunc(c.data.transformed, func(r row) bool {
		for _, name := range names {
			if r.features[name] == nil {
				continue
			}
			want := r.values(name)
			if _, same := answer[name][i].apart(want, v.tolerance*(1+want.largest())); !same {
				return false
			}
		}
		return true
	})
}
