package skew

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// known is a raw row that the model can be called with, with its features as in the training.
type known struct {
	raw     row
	trained func(name string) values
}

// match is a row of the memory with the raw rows that it may be: several, if the features that the
// model was given don't distinguish them.
type match struct {
	row  memoryRow
	rows []int // of the rows that the model is called with
}

// Limits of the calls for a memory.
const (
	// Limit of raw rows that one row of the memory may be, if others have fewer.
	maxLikely     = 20
	maxAskedRows  = 2000 // in all
	maxEpochRows  = 2000 // of a memory whose rows are identified by their answers alone
	minLabelled   = 5    // rows that suffice to identify a label
	keyedFloatFmt = 'g'
)

// pairs finds the raw rows of the memory's rows, at most most of them. It returns the raw rows for
// the calls, and the rows of the memory that each may be. The error is the reason why none are
// found.
func (m *memory) pairs(all []known, most int) (asked []row, matches []match, err error) {
	names := m.unchanged(all)
	if len(names) == 0 {
		return m.epoch(all)
	}
	byKey := map[string][]int{}
	for i, k := range all {
		key := keyOf(names, k.trained)
		byKey[key] = append(byKey[key], i)
	}
	at := map[int]int{}
	for _, few := range []bool{true, false} {
		for _, r := range m.rows {
			found := byKey[keyOf(names, func(name string) values { return r.features[name] })]
			if len(found) == 0 || few != (len(found) <= maxLikely) || len(matches) >= most || len(asked)+len(found) > maxAskedRows {
				continue
			}
			one := match{row: r}
			for _, i := range found {
				if _, ok := at[i]; !ok {
					at[i], asked = len(asked), append(asked, all[i].raw)
				}
				one.rows = append(one.rows, at[i])
			}
			matches = append(matches, one)
		}
		if len(matches) > 0 {
			break
		}
	}
	if len(matches) == 0 {
		return nil, nil, fmt.Errorf("none of the %d raw rows that were looked at has the features of a row that the model answered", len(all))
	}
	return asked, matches, nil
}

// epoch takes each raw row for each row of the memory: the sets of their answers are compared.
func (m *memory) epoch(all []known) (asked []row, matches []match, err error) {
	switch {
	case !m.Epoch:
		return nil, nil, fmt.Errorf("the model was given no feature as it is in the rows, by which they would be known")
	case len(all) != len(m.rows) || len(all) > maxEpochRows:
		return nil, nil, fmt.Errorf("the model answered %d rows of which no feature is known, and there are %d raw rows", len(m.rows), len(all))
	}
	every := make([]int, len(all))
	for i, k := range all {
		every[i], asked = i, append(asked, k.raw)
	}
	for _, r := range m.rows {
		matches = append(matches, match{r, every})
	}
	return asked, matches, nil
}

// unchanged returns the features that the model was given as they are in the rows: each of their
// values is one of a row.
func (m *memory) unchanged(all []known) []string {
	found := map[string]bool{}
	for _, r := range m.rows {
		for name := range r.features {
			found[name] = true
		}
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(found)) {
		there := map[string]bool{}
		for _, k := range all {
			if v := k.trained(name); v.len() > 0 {
				there[keyOfValues(v)] = true
			}
		}
		there[keyOfValues(values{})] = len(there) > 0
		hits := 0
		for _, r := range m.rows {
			if there[keyOfValues(r.features[name])] {
				hits++
			}
		}
		// Rows of files that were not read have other values: some values that are rarely equal by
		// chance suffice.
		if len(there) > 2 && hits*4 >= len(m.rows) || hits == len(m.rows) && hits > 0 {
			names = append(names, name)
		}
	}
	return names
}

func keyOf(names []string, of func(string) values) string {
	var key strings.Builder
	for _, name := range names {
		key.WriteString(keyOfValues(of(name)))
		key.WriteByte(0)
	}
	return key.String()
}

// keyOfValues returns a key for comparing values: numbers as float32, without the padding of dense
// tensors at the end.
func keyOfValues(v values) string {
	texts := slices.Clone(v.texts)
	for i := range v.len() - len(v.texts) {
		x := float64(float32(v.number(i)))
		if x == 0 {
			x = 0 // not -0
		}
		texts = append(texts, strconv.FormatFloat(x, keyedFloatFmt, -1, 32))
	}
	for len(texts) > 0 && slices.Contains([]string{"0", "-1", ""}, texts[len(texts)-1]) {
		texts = texts[:len(texts)-1]
	}
	for i, text := range texts {
		texts[i] = strconv.Quote(text)
	}
	return strings.Join(texts, ",")
}

// labelled returns the raw features that every row of the memory has as its label, and that the
// model was not given.
func labelled(matches []match, asked []row) (names []string) {
	if len(matches) < minLabelled {
		return nil
	}
	candidates, different := map[string]bool{}, map[string]bool{}
	for name := range asked[0].features {
		candidates[name] = true
	}
	for _, m := range matches {
		if len(m.row.label) == 0 {
			return nil
		}
		for _, v := range m.row.label {
			different[keyOfValues(v)] = true
		}
		for name := range candidates {
			_, given := m.row.features[name]
			same := func(v values) bool {
				return slices.ContainsFunc(m.rows, func(i int) bool {
					return asked[i].values(name).len() > 0 && keyOfValues(asked[i].values(name)) == keyOfValues(v)
				})
			}
			if given || !slices.ContainsFunc(slices.Collect(maps.Values(m.row.label)), same) {
				delete(candidates, name)
			}
		}
	}
	if len(different) < 2 {
		return nil
	}
	return slices.Sorted(maps.Keys(candidates))
}

// nearest returns, of the answers for the rows that a row of the memory may be, the one nearest to
// the expected one.
func nearest(served column, rows []int, distance func(values) float64) int {
	best, least := rows[0], math.Inf(1)
	for _, i := range rows {
		if d := distance(served[i]); d < least {
			best, least = i, d
		}
	}
	return best
}

// findPairs searches the transformed row of each raw one by its values. A missing row is a
// difference, if all transformed rows were searched.
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
