package warmstart

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Rows are the meanings of the rows of a weight, that is, of each index along its first axis: a
// number's feature, a token of a feature's vocabulary, a bucket. Rows of two models with equal
// strings have the same meaning.
type Rows []string

// unique reports whether no two rows are alike.
func (r Rows) unique() bool {
	seen := make(map[string]bool, len(r))
	for _, row := range r {
		if seen[row] {
			return false
		}
		seen[row] = true
	}
	return true
}

// Vocabulary has the token that each of a feature's numbers 0, 1, 2 ... represents. Larger numbers
// are buckets for other tokens.
type Vocabulary []string

// column is the contents of one column of a value in a graph.
type column struct {
	name string
	ids  *domain // the meaning of the whole numbers in it; nil: they are numbers
	unit bool    // a layer computed it: it has no meaning of its own
}

// domain is the meaning of whole numbers.
type domain struct {
	tokens Vocabulary
	hashed int   // the number of buckets of strings; 0: they aren't buckets
	other  int64 // the number of all other values; -1: there is none
}

var ownNumbers = &domain{other: -1}

// row returns the text for a number of the domain.
func (c column) row(id int64) string {
	d := c.ids
	if d == nil {
		d = ownNumbers
	}
	switch {
	case id == d.other:
		return c.name + ": others"
	case d.hashed > 0:
		return fmt.Sprintf("%s: bucket %d of %d", c.name, id, d.hashed)
	case len(d.tokens) > 0 && id >= int64(len(d.tokens)):
		return fmt.Sprintf("%s: bucket %d for others", c.name, id-int64(len(d.tokens)))
	case len(d.tokens) > 0:
		return c.name + ": " + strconv.Quote(d.tokens[id])
	}
	return fmt.Sprintf("%s: %d", c.name, id)
}

// features returns the columns of a feature: a single one has its name, several have an index too.
func features(name string, width int, ids *domain) []column {
	if width == 1 {
		return []column{{name: name, ids: ids}}
	}
	list := make([]column, width)
	for i := range list {
		list[i] = column{name: fmt.Sprintf("%s[%d]", name, i), ids: ids}
	}
	return list
}

// units returns the columns of a layer's output, of which only the positions are known.
func units(width int) []column {
	list := make([]column, width)
	for i := range list {
		list[i] = column{name: fmt.Sprintf("unit %d of %d", i, width), unit: true}
	}
	return list
}

// oneHot returns a column for each number below depth, for each column of x.
func oneHot(x []column, depth int) []column {
	var list []column
	for _, c := range x {
		for id := range depth {
			list = append(list, column{name: c.row(int64(id))})
		}
	}
	return list
}

// lookedUp returns the contents of columns that are rows of a table, dim numbers each.
func lookedUp(x []column, dim int) []column {
	var list []column
	for _, c := range x {
		for i := range dim {
			list = append(list, column{name: fmt.Sprintf("%s, number %d", c.name, i)})
		}
	}
	return list
}

// kernelRows returns the rows of a kernel by which x is multiplied; nil if only their order is
// known.
func kernelRows(x []column) Rows {
	if !slices.ContainsFunc(x, func(c column) bool { return !c.unit }) {
		return nil
	}
	rows := make(Rows, len(x))
	for i, c := range x {
		rows[i] = c.name
	}
	return rows
}

// tableRows returns the rows of a table of depth rows in which the numbers in x are looked up.
func tableRows(x []column, depth int) Rows {
	if len(x) == 0 || x[0].unit {
		return nil
	}
	rows := make(Rows, depth)
	for id := range rows {
		rows[id] = x[0].row(int64(id))
	}
	return rows
}

// mapped returns columns whose strings have become numbers.
func mapped(x []column, ids domain) []column {
	list := make([]column, len(x))
	for i, c := range x {
		list[i] = column{name: c.name, ids: &ids}
	}
	return list
}

// crossed returns the columns of a hashed cross: one for each combination of its operands', the
// last one's changing fastest. nil: there are too many, or the content of one of them is unknown.
func crossed(buckets int, of ...[]column) []column {
	list := []column{{}}
	for i, x := range of {
		if len(x) == 0 || len(list) > maxColumns/len(x) {
			return nil
		}
		var wider []column
		for _, before := range list {
			for _, c := range x {
				if i > 0 {
					c.name = before.name + " x " + c.name
				}
				wider = append(wider, column{name: c.name, ids: &domain{hashed: buckets, other: -1}})
			}
		}
		list = wider
	}
	return list
}

// clamped returns columns in which other represents all numbers that aren't in the domain.
func clamped(x []column, other int64) []column {
	list := make([]column, len(x))
	for i, c := range x {
		ids := domain{}
		if c.ids != nil {
			ids = *c.ids
		}
		ids.other = other
		list[i] = column{name: c.name, ids: &ids}
	}
	return list
}

// known collects the meanings of rows, by weight.
type known map[string]Rows

// indistinct are rows that have meanings, but can't be distinguished.
var indistinct = Rows{}

func (r Rows) isIndistinct() bool { return r != nil && len(r) == 0 }

// learn stores the rows of a weight. If a weight is used twice with different meanings, its rows
// are unknown.
func (k known) learn(weight string, rows Rows) {
	before, ok := k[weight]
	if ok && (before.isIndistinct() || !slices.Equal(before, rows)) || rows != nil && !rows.unique() {
		rows = indistinct
	}
	k[weight] = rows
}

// informative leaves out rows without a meaning.
func (k known) informative() map[string]Rows {
	maps.DeleteFunc(k, func(_ string, rows Rows) bool { return rows == nil })
	return k
}
