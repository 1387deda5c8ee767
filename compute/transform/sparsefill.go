package transform

import (
	"errors"
	"fmt"
	"slices"
)

// buildFillEmptyRows gives each row without values one: the default, at the start of the row. It says too which rows those
// are, and where each value went.
func buildFillEmptyRows(n *node) (kernel, error) {
	if err := n.takes(4); err != nil {
		return nil, err
	}
	n.out = []dtype{int64Type, n.in[1], boolType, int64Type}
	return func(c *call) error {
		s, err := sparseArg(c, 0)
		if err != nil {
			return err
		}
		if len(s.dims) == 0 || c.tensor(3).size() != 1 {
			return fmt.Errorf("shape %v, %d defaults", s.dims, c.tensor(3).size())
		}
		if err := c.allow(s.dims[:1]); err != nil {
			return err
		}
		order, err := s.byRow()
		if err != nil {
			return err
		}
		return fillEmptyRows(c, s, order)
	}, errors.Join(n.wantSparse(0), n.wantAt(3, n.in[1]))
}

// byRow lists the values of each row, in their order.
func (s coords) byRow() ([][]int, error) {
	list := make([][]int, s.dims[0])
	for i := range s.values.size() {
		row := s.index(i)[0]
		if row < 0 || row >= s.dims[0] {
			return nil, fmt.Errorf("value %d is in row %d of %d", i, row, s.dims[0])
		}
		list[row] = append(list[row], i)
	}
	return list, nil
}

func fillEmptyRows(c *call, s coords, order [][]int) error {
	empty := room[bool](c, 2, len(order)).data
	total := s.values.size()
	for row, list := range order {
		if empty[row] = len(list) == 0; empty[row] {
			total++
		}
	}
	rank := len(s.dims)
	indices, values := room[int64](c, 0, total, rank).data, c.roomLike(1, s.values, total)
	went := room[int64](c, 3, s.values.size()).data
	at := 0
	for row, list := range order {
		if len(list) == 0 {
			index := slices.Repeat([]int{0}, rank)
			index[0] = row
			copyInts(indices[at*rank:], index)
			values.copy(at, c.tensor(3), 0, 1)
			at++
		}
		for _, i := range list {
			copyInts(indices[at*rank:], s.index(i))
			values.copy(at, s.values, i, 1)
			went[i] = int64(at)
			at++
		}
	}
	return nil
}
