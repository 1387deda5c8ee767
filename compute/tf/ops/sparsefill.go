package ops

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// buildFillEmptyRows adds one value to each row without values: the default, at the start of the
// row. It also returns which rows those are, and the new position of each value.
func buildFillEmptyRows(n *Node) (Kernel, error) {
	if err := n.takes(4); err != nil {
		return nil, err
	}
	n.Out = []tensor.DType{tensor.Int64, n.In[1], tensor.Bool, tensor.Int64}
	return func(c *Call) error {
		s, err := sparseArg(c, 0)
		if err != nil {
			return err
		}
		if len(s.Dims) == 0 || c.tensor(3).Size() != 1 {
			return fmt.Errorf("shape %v, %d defaults", s.Dims, c.tensor(3).Size())
		}
		if err := c.allow(s.Dims[:1]); err != nil {
			return err
		}
		c.use(24*int64(s.Dims[0]) + 32*int64(s.Values.Size()))
		order, err := s.byRow()
		if err != nil {
			return err
		}
		return fillEmptyRows(c, s, order)
	}, errors.Join(n.wantSparse(0), n.wantAt(3, n.In[1]))
}

// byRow lists the values of each row, in their order.
func (s Coords) byRow() ([][]int, error) {
	list := make([][]int, s.Dims[0])
	for i := range s.Values.Size() {
		row := s.Index(i)[0]
		if row < 0 || row >= s.Dims[0] {
			return nil, fmt.Errorf("value %d is in row %d of %d", i, row, s.Dims[0])
		}
		list[row] = append(list[row], i)
	}
	return list, nil
}

func fillEmptyRows(c *Call, s Coords, order [][]int) error {
	empty := newOutput[bool](c, 2, len(order)).Data
	total := s.Values.Size()
	for row, list := range order {
		if empty[row] = len(list) == 0; empty[row] {
			total++
		}
	}
	rank := len(s.Dims)
	indices, values := newOutput[int64](c, 0, total, rank).Data, c.newOutputLike(1, s.Values, total)
	went := newOutput[int64](c, 3, s.Values.Size()).Data
	at := 0
	for row, list := range order {
		c.tick(rank * (1 + len(list)))
		if len(list) == 0 {
			index := slices.Repeat([]int{0}, rank)
			index[0] = row
			copyInts(indices[at*rank:], index)
			values.CopyFrom(at, c.tensor(3), 0, 1)
			at++
		}
		for _, i := range list {
			copyInts(indices[at*rank:], s.Index(i))
			values.CopyFrom(at, s.Values, i, 1)
			went[i] = int64(at)
			at++
		}
	}
	return nil
}
