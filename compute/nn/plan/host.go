package plan

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// hosted is an operation of Gorgonia's without a kernel.
type hosted struct {
	op     gorgonia.Op
	says   string
	shape  tensor.Shape
	shapes []tensor.Shape   // of the operands that have buffers
	fixed  []gorgonia.Value // for all operands: nil if it has a buffer

	out    gorgonia.Value
	in     []gorgonia.Value
	at     []Slice // the operands' memory, as it was when their tensors were made
	outAt  Slice
	reuses bool
}

// onHost is a node whose op is not known.
func (c *compiler) onHost(d *node) (*value, error) {
	h := &hosted{op: d.Op(), says: d.says, shape: d.Shape().Clone(), fixed: make([]gorgonia.Value, len(d.in))}
	var in []*value
	for i, v := range d.in {
		if v.source == fixed {
			h.fixed[i] = v.fixed
			continue
		}
		in = append(in, v)
		h.shapes = append(h.shapes, d.kids[i].Shape().Clone())
	}
	v := c.make(d.says, OnHost, Attr{Host: h}, d.rows, d.cols, in...)
	return v, v.typed(d.Node)
}

// Name returns the operation's printed form.
func (h *hosted) Name() string { return h.says }

// Do calls the operation over tensors that are created when the memory is first used.
func (h *hosted) Do(out Slice, in []Slice) error {
	h.bind(out, in)
	for i, v := range h.in {
		if scalar, ok := v.(*gorgonia.F32); ok && h.fixed[i] == nil {
			*scalar = gorgonia.F32(h.operand(i).Floats[0])
		}
	}
	y, err := h.call(out)
	if err != nil {
		return fmt.Errorf("%s: %w", h.says, err)
	}
	return h.copy(out, y)
}

func (h *hosted) call(out Slice) (gorgonia.Value, error) {
	if pre, ok := h.op.(gorgonia.UsePreallocDoer); ok && h.reuses {
		clear(out.Floats)
		return pre.UsePreallocDo(h.out, h.in...)
	}
	return h.op.Do(h.in...)
}

func (h *hosted) copy(out Slice, y gorgonia.Value) error {
	switch data := y.Data().(type) {
	case []float32:
		if t, ok := y.(*tensor.Dense); ok && t.RequiresIterator() {
			if data, ok = t.Materialize().Data().([]float32); !ok {
				break
			}
		}
		if len(data) == len(out.Floats) {
			copy(out.Floats, data)
			return nil
		}
	case float32:
		if len(out.Floats) == 1 {
			out.Floats[0] = data
			return nil
		}
	case []int:
		if len(data) == len(out.Ints) {
			copy(out.Ints, data)
			return nil
		}
	}
	return fmt.Errorf("%s gave %v of shape %v, expected %v", h.says, y.Dtype(), y.Shape(), h.shape)
}

// bind makes tensors over the memory, unless it is that of the last call.
func (h *hosted) bind(out Slice, in []Slice) {
	if h.in != nil && sameMemory(h.outAt, out) && slices.EqualFunc(h.at, in, sameMemory) {
		return
	}
	h.outAt, h.at = out, slices.Clone(in)
	h.in = slices.Clone(h.fixed)
	next := 0
	for i := range h.in {
		if h.in[i] == nil {
			h.in[i] = valueOver(in[next], h.shapes[next])
			next++
		}
	}
	h.out = valueOver(out, h.shape)
	_, scalar := h.out.(*gorgonia.F32)
	h.reuses = !scalar
}

// operand returns the memory of the i-th operand.
func (h *hosted) operand(i int) Slice {
	n := 0
	for _, f := range h.fixed[:i] {
		if f == nil {
			n++
		}
	}
	return h.at[n]
}

func sameMemory(a, b Slice) bool {
	return len(a.Floats) == len(b.Floats) && len(a.Ints) == len(b.Ints) &&
		(len(a.Floats) == 0 || &a.Floats[0] == &b.Floats[0]) && (len(a.Ints) == 0 || &a.Ints[0] == &b.Ints[0])
}

// valueOver returns a tensor over s; without axes it is a scalar of Gorgonia's.
func valueOver(s Slice, shape tensor.Shape) gorgonia.Value {
	if shape.Dims() == 0 && s.Ints == nil {
		return gorgonia.NewF32(s.Floats[0])
	}
	if shape.Dims() == 0 {
		return gorgonia.NewI(s.Ints[0])
	}
	if s.Ints != nil {
		return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(s.Ints))
	}
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(s.Floats))
}
