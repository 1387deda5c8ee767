package warmstart

import "github.com/stoker-ml/stoker/compute/nn"

// places are what an axis of a weight stands for on both sides.
type places struct {
	ours, old Rows
	known     bool   // of both sides, and for each place
	opposite  bool   // old values have the other sign
	note      string // of what isn't known
}

// order is the old place for each of ours, nil for all as they stand, and a note.
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

// columnsOf is for weights that have a column for each class.
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
