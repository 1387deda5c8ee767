package transform

import (
	"fmt"
	"slices"
)

// plan is a function of a graph, flat: steps that read and write numbered slots. It is not changed after it has been
// compiled.
type plan struct {
	args    []int   // slots that the caller fills
	steps   []step  // in an order in which each finds what it needs
	results []int   // slots
	types   []dtype // of the results
	start   []value // by slot: what is there before the first step: constants and tables
}

// step computes one node.
type step struct {
	kernel  kernel
	in, out []int // slots
	node    string
	op      string
}

// kernel computes the outputs of a node from its inputs, whose types were checked when it was built. It doesn't change its
// inputs, and keeps nothing.
type kernel func(c *call) error

// call is what a kernel works on.
type call struct {
	in []value

	// out takes the outputs. On entry it holds those of the last batch, whose memory may be used again: nobody has use for
	// them any more. A kernel that hands on an input as its output must therefore never use that memory.
	out []value

	most int // elements that a tensor may have
}

// frame is the memory of one run of a plan.
type frame struct {
	slots   []value
	args    []value // what was fed last
	results []value // of one feature
	call    call
}

func (p *plan) newFrame(most int) *frame {
	return &frame{slots: slices.Clone(p.start), call: call{most: most}}
}

// run does the steps. The results are in the frame's slots, and stay there until its next run.
func (p *plan) run(f *frame, args []value) error {
	for i, slot := range p.args {
		f.slots[slot] = args[i]
	}
	for i := range p.steps {
		s := &p.steps[i]
		f.call.in, f.call.out = f.call.in[:0], f.call.out[:0]
		for _, slot := range s.in {
			f.call.in = append(f.call.in, f.slots[slot])
		}
		for _, slot := range s.out {
			f.call.out = append(f.call.out, f.slots[slot])
		}
		if err := s.kernel(&f.call); err != nil {
			return fmt.Errorf("node %s (%s): %w", s.node, s.op, err)
		}
		for i, slot := range s.out {
			f.slots[slot] = f.call.out[i]
		}
	}
	return nil
}

// apply runs the plan in memory of its own: in a loop, one pass works on what the last one left.
func (p *plan) apply(args []value, most int) ([]value, error) {
	f := p.newFrame(most)
	if err := p.run(f, args); err != nil {
		return nil, err
	}
	results := make([]value, len(p.results))
	for i, slot := range p.results {
		results[i] = f.slots[slot]
	}
	return results, nil
}

// arg is input i as a tensor of a type that was checked when the kernel was built.
func arg[T element](c *call, i int) *array[T] { return c.in[i].(*array[T]) }

func (c *call) tensor(i int) tensor { return c.in[i].(tensor) }

// room is output i with that shape.
func room[T element](c *call, i int, dims ...int) *array[T] {
	a := roomIn[T](c.out[i], dims...)
	c.out[i] = a
	return a
}

// allow is an error for a shape that is impossible, or too large.
func (c *call) allow(dims []int) error { return allow(dims, c.most) }

// broadcast is the shape of an op on two tensors.
func (c *call) broadcast(a, b []int) ([]int, error) {
	dims, err := broadcast(a, b)
	if err != nil {
		return nil, err
	}
	return dims, c.allow(dims)
}

// roomLike is output i of the type of a tensor.
func (c *call) roomLike(i int, t tensor, dims ...int) tensor {
	out := t.room(c.out[i], dims)
	c.out[i] = out
	return out
}
