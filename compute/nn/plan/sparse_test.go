package plan

import (
	"strings"
	"testing"
)

// sparsePlan is a product of two rows of two places with a table of three rows, or its slope.
func sparsePlan(op Op) *Plan {
	values := Buffer{Name: "values", Rows: 2, Cols: 2}
	ids := Buffer{Name: "ids", Kind: Int, Rows: 4, Cols: 1}
	table := Buffer{Name: "table", At: 4, Rows: 3, Cols: 1}
	rows := Buffer{Name: "rows", At: 7, Rows: 2, Cols: 1}
	p := &Plan{Buffers: []Buffer{values, ids, table, rows}, Floats: 9, Ints: 4}
	if op == Sparse {
		p.Code = []Instr{{Op: Sparse, Out: 3, In: []int{0, 1, 2}, Node: "wide"}}
	} else {
		p.Code = []Instr{{Op: SparseSlope, Out: 2, In: []int{0, 1, 3}, Node: "wide"}}
	}
	return p
}

func TestAnIDBeyondTheTableOfASparseProductIsAnError(t *testing.T) {
	t.Parallel()
	for _, op := range []Op{Sparse, SparseSlope} {
		m := NewMachine(sparsePlan(op), nil)
		copy(m.Ints(1), []int{0, -1, 2, 1})
		if _, err := m.Step(0); err != nil {
			t.Errorf("ids of the table, and one that is none: %v", err)
		}
		m.Ints(1)[3] = 3
		if _, err := m.Step(0); err == nil || !strings.Contains(err.Error(), "wide: id 3, at place 3, is outside 0..2") {
			t.Errorf("%v, expected an error that names the id and its place", err)
		}
	}
}
