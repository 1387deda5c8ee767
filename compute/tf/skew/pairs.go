package skew

import (
	"maps"
	"slices"
)

// findPairs looks for the transformed row of each raw one by what it holds. A row that isn't there
// is a difference, if all transformed rows were looked at.
func (c *check) findPairs(v *verdict, answer map[string]column) {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(answer)), func(name string) bool { return !c.data.keeps(name) })
	if len(names) == 0 {
		c.note("transformed features are not compared: the rows that Transform wrote have none that the model answers with")
		return
	}
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
			want := r.values(name)
			if _, same := answer[name][i].apart(want, v.tolerance*(1+want.largest())); !same {
				return false
			}
		}
		return true
	})
}
