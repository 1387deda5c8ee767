package app

import (
	"fmt"
	"io"
	"strings"

	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// Column is a column of a table of items.
type Column[T any] struct {
	Head string
	Of   func(item T) any // the text of its cell
	Wide bool             // only with -o wide
}

// Listing is a list that a command prints. -o json and yaml print Items, -o name prints the Name of
// each (Info.Names documents what that is), and tables have Columns.
type Listing[T any] struct {
	Items   []T
	Name    func(item T) string
	Columns []Column[T]
	After   func(w io.Writer) // prints what follows the table; may be nil
	None    string            // note for people about an empty list: why it is, or what fills it
}

// PrintList writes a list in the selected format.
func PrintList[T any](a *App, l Listing[T]) error {
	if len(l.Items) == 0 && l.None != "" && !a.ForPrograms() {
		defer fmt.Fprintln(a.Notes(), terminal.Line(l.None))
	}
	switch a.Output {
	case terminal.Name:
		for _, item := range l.Items {
			fmt.Fprintln(a.Stdout, terminal.Line(l.Name(item)))
		}
		return nil
	case terminal.Wide:
		return terminal.Print(a.Stdout, terminal.Table, l.Items, func(w io.Writer) { l.Table(w, true) })
	}
	return a.Print(l.Items, func(w io.Writer) { l.Table(w, false) })
}

// Table writes the list for people.
func (l Listing[T]) Table(w io.Writer, wide bool) {
	row := func(cell func(c Column[T]) any) {
		var cells []any
		for _, c := range l.Columns {
			if wide || !c.Wide {
				cells = append(cells, cell(c))
			}
		}
		terminal.Row(w, cells...)
	}
	row(func(c Column[T]) any { return c.Head })
	for _, item := range l.Items {
		row(func(c Column[T]) any { return c.Of(item) })
	}
	if l.After != nil {
		l.After(w)
	}
}

// Pick returns the item that a user names: the one for which is holds or whose id is the word, else
// the only one whose id begins with the word. found is false if there is none. If several begin
// with it, the error calls them what, a plural.
func Pick[T any](items []T, word, what string, id func(item T) string, is func(item T) bool) (picked T, found bool, err error) {
	var begins []T
	for _, item := range items {
		if id(item) == word || is(item) {
			return item, true, nil
		}
		if word != "" && strings.HasPrefix(id(item), word) {
			begins = append(begins, item)
		}
	}
	switch len(begins) {
	case 0:
		return picked, false, nil
	case 1:
		return begins[0], true, nil
	}
	return picked, false, exit.Usage(fmt.Errorf("%d %s begin with %s, such as %s and %s: give more of the id", len(begins), what, word, id(begins[0]), id(begins[1])))
}
