package console

import (
	"html/template"
	"slices"
	"strings"
)

// sortColumn is a column by which a table is sorted.
type sortColumn[T any] struct {
	name, label string
	number      bool
	compare     func(a, b T) int
}

// sortBy sorts by the column of a name, and returns the name as it is written in addresses: "-"
// before it is for descending. For an unknown name the list stays in its usual order.
func sortBy[T any](list []T, columns []sortColumn[T], by, usual string) string {
	name, descending := strings.CutPrefix(by, "-")
	at := slices.IndexFunc(columns, func(c sortColumn[T]) bool { return c.name == name })
	if at < 0 {
		return usual
	}
	slices.SortStableFunc(list, func(a, b T) int {
		order := columns[at].compare(a, b)
		if descending {
			return -order
		}
		return order
	})
	return by
}

// sortHead is the heading of a column, with the address that sorts by it.
type sortHead struct {
	Name, Label string
	URL         template.URL
	Order       string // ascending, descending or none
	Number      bool
}

// head returns the heading of the column in a table that is sorted by a column.
func (c sortColumn[T]) head(by string, address func(sort string) template.URL) sortHead {
	return headOf(c.name, c.label, by, c.number, address)
}

// headOf returns the heading of a column. Its address sorts by it, or in the other direction if the
// list is sorted by it already.
func headOf(name, label, by string, number bool, address func(sort string) template.URL) sortHead {
	h := sortHead{Name: name, Label: label, Number: number, Order: "none", URL: address(name)}
	switch by {
	case name:
		h.Order, h.URL = "ascending", address("-"+name)
	case "-" + name:
		h.Order, h.URL = "descending", address(name)
	}
	return h
}
