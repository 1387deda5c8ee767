package graph

import (
	"fmt"
	"slices"

	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"

	"github.com/stoker-ml/stoker/compute/tf/ops"
	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// Bounds of what is computed before there is anything to compute it for.
const (
	maxFolded = 1 << 16 // elements of a tensor that is computed at once, and kept
	maxGrown  = 1 << 28 // bytes of all that are kept, but for those that the file holds
)

// fold computes a node whose inputs are known, and says whether it did. If it can't, that may be an
// error in every run; only the end of the context is one at once.
func (s *scope) fold(k ops.Kernel, n *ops.Node, out []int) (bool, error) {
	if slices.Contains(n.Fixed, nil) {
		return false, nil
	}
	budget := s.session.budget
	start := budget.Mark()
	c := &ops.Call{In: n.Fixed, Out: make([]ops.Value, len(out)), Most: maxFolded, Budget: budget}
	if err := ops.Do(k, c); err != nil {
		budget.Reset(start)
		return false, budget.Poll()
	}
	for i, slot := range out {
		s.plan.start[slot] = c.Out[i]
	}
	return true, nil
}

// grow counts what a folded node keeps. A constant has in the file what isn't repeated; what else
// is larger than a tensor that is computed at once is no new one, but an input handed on or a
// variable.
func (s *scope) grow(def *nodepb.NodeDef, out []int) error {
	for _, slot := range out {
		t, ok := s.plan.start[slot].(tensor.Tensor)
		switch {
		case !ok:
		case def.GetOp() == "Const":
			s.spent.grown += max(0, ops.SizeOf(t)-s.session.sizes[def])
		case t.Size() <= maxFolded:
			s.spent.grown += ops.SizeOf(t)
		}
	}
	if s.spent.grown > maxGrown {
		return fmt.Errorf("node %s: constants grow to more than %d bytes", def.GetName(), maxGrown)
	}
	return nil
}
