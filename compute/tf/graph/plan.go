package graph

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stoker-ml/stoker/compute/tf/ops"
	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// plan is a function of a graph, flat: steps that read and write numbered slots. It is not changed
// after it has been compiled.
type plan struct {
	args    []int          // slots that the caller fills
	steps   []step         // each after the steps that it needs
	results []int          // slots
	types   []tensor.DType // of the results
	start   []ops.Value    // by slot: the values before the first step: constants and tables
	loops   bool           // it may run for a long time
}

// step computes one node.
type step struct {
	kernel  ops.Kernel
	in, out []int // slots
	node    string
	op      string
}

// frame is the memory of one run of a plan.
type frame struct {
	slots []ops.Value
	call  ops.Call
}

func (p *plan) newFrame(most int, b *ops.Budget) *frame {
	return &frame{slots: slices.Clone(p.start), call: ops.Call{Most: most, Budget: b}}
}

// run executes the steps. The results are in the frame's slots, and stay there until its next run.
func (p *plan) run(f *frame, args []ops.Value) error {
	for i, slot := range p.args {
		f.slots[slot] = args[i]
	}
	for i := range p.steps {
		s := &p.steps[i]
		if err := f.call.Budget.Step(); err != nil {
			return fmt.Errorf("node %s (%s): %w", s.node, s.op, err)
		}
		f.call.In, f.call.Out = f.call.In[:0], f.call.Out[:0]
		for _, slot := range s.in {
			f.call.In = append(f.call.In, f.slots[slot])
		}
		for _, slot := range s.out {
			f.call.Out = append(f.call.Out, f.slots[slot])
		}
		if err := ops.Do(s.kernel, &f.call); err != nil {
			return fmt.Errorf("node %s (%s): %w", s.node, s.op, err)
		}
		for i, slot := range s.out {
			f.slots[slot] = f.call.Out[i]
		}
	}
	return nil
}

// Types returns the dtypes of the results.
func (p *plan) Types() []tensor.DType { return p.types }

// slotBytes is the memory of a slot of a frame.
const slotBytes = 16

// Apply runs the plan in memory of its own, because a pass of a loop works on the results of the
// previous one. It releases that memory, except the results.
func (p *plan) Apply(args []ops.Value, most int, b *ops.Budget) ([]ops.Value, error) {
	start := b.Mark()
	if err := errors.Join(b.Step(), b.Charge(slotBytes*int64(len(p.start)))); err != nil {
		return nil, err
	}
	f := p.newFrame(most, b)
	if err := p.run(f, args); err != nil {
		return nil, err
	}
	results := make([]ops.Value, len(p.results))
	for i, slot := range p.results {
		results[i] = f.slots[slot]
	}
	b.Rewind(start, ops.SizeOfNew(results, args))
	return results, nil
}
