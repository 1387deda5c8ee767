package plan

import "fmt"

// look does what looks rows up, and what only moves numbers.
func (m *cpu) look(t *task) error {
	k := m.team
	switch t.Op {
	case Gather:
		if err := within(t, t.xRows); err != nil {
			return err
		}
		k.Gather(t.out, t.x, t.ids, t.cols)
	case Scatter:
		if err := within(t, t.rows); err != nil {
			return err
		}
		t.clear()
		k.ScatterAdd(t.out, t.x, t.ids, t.cols)
	case Sparse, SparseSlope:
		return m.sparse(t)
	default:
		return t.move()
	}
	return nil
}

// within is an error for an id that a table of so many rows lacks.
func within(t *task, rows int) error {
	for i, id := range t.ids {
		if uint(id) >= uint(rows) {
			return t.outside(i, rows)
		}
	}
	return nil
}

func (t *task) outside(place, rows int) error {
	return fmt.Errorf("%s: id %d, at place %d, is outside 0..%d", t.Node, t.ids[place], place, rows-1)
}

// sparse leaves it to the kernel to find an id beyond the table: there are many ids, and little to do for each.
func (m *cpu) sparse(t *task) (err error) {
	if t.Op == Sparse {
		defer t.beyond(m.plan.Buffers[t.In[2]].Rows, &err)
		m.team.SparseGemm(t.out, t.x, t.ids, t.z, t.rows, t.xCols, t.cols)
		return nil
	}
	defer t.beyond(t.rows, &err)
	t.clear()
	m.team.SparseGemmSlope(t.out, t.x, t.ids, t.z, t.xRows, t.xCols, t.cols)
	return nil
}

// beyond, deferred, makes an error of a kernel's panic where an id is why.
func (t *task) beyond(rows int, err *error) {
	why := recover()
	if why == nil {
		return
	}
	for i, id := range t.ids {
		if id >= rows {
			*err = t.outside(i, rows)
			return
		}
	}
	panic(why)
}

func (t *task) clear() {
	if !t.Add {
		clear(t.out)
	}
}
