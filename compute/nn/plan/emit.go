package plan

import "github.com/stoker-ml/stoker/compute/kernel"

// emitter writes a Plan.
type emitter struct {
	plan    *Plan
	buffers map[*value]int
	places  map[*value]place
	filled  map[float32]int // buffers of one number
}

// emit writes the plan that computes the roots.
func (c *compiler) emit(r *roots) *Plan {
	ends := c.ends(r)
	order := needed(r)
	m := newMemory(order, c.inputs, ends)
	places := m.lay(order)
	em := &emitter{
		plan:    &Plan{Inputs: map[string]int{}, Outputs: map[string]int{}, Floats: m.floats.size, Ints: m.ints.size, Strings: m.strings.size, Grads: ends.size},
		buffers: map[*value]int{}, places: places, filled: map[float32]int{},
	}
	for _, v := range c.inputs {
		em.plan.Inputs[v.name] = em.buffer(v)
	}
	for _, v := range order {
		if v.source == computed {
			em.instr(v)
		}
	}
	if r.loss != nil {
		em.plan.Loss = em.buffer(r.loss)
	}
	for _, name := range sortedKeys(r.outputs) {
		em.plan.Outputs[name] = em.buffer(r.outputs[name])
	}
	em.plan.Params = ends.ranges
	return em.plan
}

// ends says where results have to be.
type ends struct {
	kept   []*value       // the loss and the outputs, which stay until the next step
	grads  map[*value]int // position in the gradients
	ranges []Range
	size   int
}

// ends gives each gradient its position; one that can't be computed there is copied.
func (c *compiler) ends(r *roots) *ends {
	e := &ends{grads: map[*value]int{}}
	taken := map[*value]bool{}
	keep := func(v *value) *value {
		if v.source == splat || v.base().source == bound {
			v = c.number(&value{op: Copy, rows: v.rows, cols: v.cols, in: []*value{v}, label: v.label})
		}
		taken[v.base()] = true
		e.kept = append(e.kept, v)
		return v
	}
	if r.loss != nil {
		r.loss = keep(r.loss)
	}
	for _, name := range sortedKeys(r.outputs) {
		r.outputs[name] = keep(r.outputs[name])
	}
	for i, g := range r.grads {
		e.ranges = append(e.ranges, Range{e.size, e.size + r.sizes[i]})
		if g != nil {
			if g.base().source != computed || taken[g.base()] {
				g = c.number(&value{op: Copy, rows: g.rows, cols: g.cols, in: []*value{g}, label: g.label})
				r.grads[i] = g
			}
			taken[g.base()] = true
			e.grads[g.base()] = e.size
		}
		e.size += r.sizes[i]
	}
	return e
}

// base returns the value in whose memory v is.
func (v *value) base() *value {
	for {
		switch {
		case v.source == view:
			v = v.in[0]
		case v.adds != nil:
			v = v.adds
		default:
			return v
		}
	}
}

// buffer returns the index of v's buffer.
func (e *emitter) buffer(v *value) int {
	if i, ok := e.buffers[v]; ok {
		return i
	}
	b := Buffer{Name: v.name, Kind: v.kind, Rows: v.rows, Cols: v.cols}
	if b.Name == "" {
		b.Name = v.label
	}
	switch base := v.base(); base.source {
	case bound:
		b.Home, b.Data, b.Param = Bound, base.data, base.param
	case splat:
		return e.constant(v)
	default:
		p := e.places[base]
		b.Home, b.At = p.home, p.at
	}
	return e.append(v, b)
}

func (e *emitter) append(v *value, b Buffer) int {
	e.plan.Buffers = append(e.plan.Buffers, b)
	e.buffers[v] = len(e.plan.Buffers) - 1
	return e.buffers[v]
}

// constant returns a buffer filled with one number.
func (e *emitter) constant(v *value) int {
	if i, ok := e.filled[v.number]; ok && v.len() == 1 {
		return i
	}
	data := make([]float32, v.len())
	for i := range data {
		data[i] = v.number
	}
	i := e.append(v, Buffer{Name: v.label, Home: Bound, Rows: v.rows, Cols: v.cols, Data: data})
	if v.len() == 1 {
		e.filled[v.number] = i
	}
	return i
}

func (e *emitter) instr(v *value) {
	in := Instr{Op: v.op, Attr: v.attr, Node: v.label}
	for _, x := range v.in {
		in.In = append(in.In, e.buffer(x))
	}
	in.Out = e.buffer(v)
	if v.op == Copy && v.len() == 1 && v.in[0].source == splat {
		in.Op, in.Value, in.In = Fill, v.in[0].number, nil
	}
	e.plan.Code = append(e.plan.Code, in)
}

// inPlace returns the operands that an instruction may write over.
func inPlace(v *value) []*value {
	switch v.op {
	case Map, Slope:
		return v.in
	case Combine:
		if v.attr.Shape == kernel.Full {
			return v.in
		}
		return v.in[:1]
	}
	return nil
}
