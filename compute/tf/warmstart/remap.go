package warmstart

import (
	"fmt"
	"slices"

	"github.com/stoker-ml/stoker/compute/nn"
)

// remap finds for each new row the old one with the same meaning, -1 for none. The rows of both
// sides can be distinguished. A nil order keeps all rows as they are. taken is the note, with a %d
// for the number of rows that moved, and none is the text of the error if there are none.
func remap(ours, old Rows, taken, none string) (order []int, note string, err error) {
	if slices.Equal(ours, old) {
		return nil, "", nil
	}
	at := make(map[string]int, len(old))
	for i, row := range old {
		at[row] = i
	}
	order = make([]int, len(ours))
	n, fresh := 0, ""
	for i, row := range ours {
		from, ok := at[row]
		switch {
		case ok:
			n++
		case fresh == "":
			fresh, from = row, -1
		default:
			from = -1
		}
		order[i] = from
	}
	if n == 0 {
		return nil, "", misfit(fmt.Sprintf("%s: %s against %s", none, old[0], ours[0]))
	}
	note = fmt.Sprintf(taken, n)
	if added := len(ours) - n; added > 0 {
		note += fmt.Sprintf(", %d new (%s%s)", added, fresh, more(added))
	}
	if left := len(old) - n; left > 0 {
		note += fmt.Sprintf(", %d left behind", left)
	}
	return order, note, nil
}

func more(n int) string {
	if n > 1 {
		return ", ..."
	}
	return ""
}

// places are the meanings of an axis of a weight on both sides.
type places struct {
	ours, old Rows
	known     bool   // of both sides, and for each index
	opposite  bool   // old values have the other sign
	note      string // of what isn't known
}

// order returns the old index for each of the new ones, nil if all stay as they are, and a note.
func (p places) order(taken, none string) ([]int, string, error) {
	if !p.known || p.opposite {
		return nil, p.note, nil
	}
	return remap(p.ours, p.old, taken, none)
}

func (s *starter) rowsOf(p nn.Param, theirs Weight) places {
	rows := places{ours: s.rows[p.Name], old: s.from.Rows(theirs)}
	rows.known = len(p.Shape) > 0 && len(rows.ours) == p.Shape[0] && len(theirs.Shape) > 0 && len(rows.old) == theirs.Shape[0]
	switch {
	case rows.known || rows.ours == nil:
	case rows.ours.isIndistinct():
		rows.note = "rows as they stand: they can't be distinguished"
	default:
		rows.note = "rows as they stand: what they stood for isn't known"
	}
	return rows
}

// columnsOf returns the places of the columns of a weight with a column for each class.
func (s *starter) columnsOf(p nn.Param, theirs Weight) places {
	if !s.classes.weights[p.Name] || len(theirs.Shape) == 0 {
		return places{}
	}
	ours, theirLast := p.Shape[len(p.Shape)-1], theirs.Shape[len(theirs.Shape)-1]
	columns := places{ours: classColumns(s.classes.ours, ours), old: classColumns(s.classes.old, theirLast)}
	switch {
	case columns.ours == nil:
		columns.note = "classes as they stand: what the new ones are isn't known"
	case columns.old == nil:
		columns.note = "classes as they stand: what the old ones were isn't known"
	default:
		columns.known = true
	}
	if ours == 1 && theirLast == 1 && s.classes.opposite() {
		columns.opposite, columns.note = true, "negated: its two classes stand the other way round"
	}
	return columns
}
