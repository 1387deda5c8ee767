package cuda

import (
	"fmt"
	"math"

	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// clipCalls bound gradients: each number of them, or by their norm those of each param, or all
// together.
type clipCalls struct {
	value  *Launch
	params []normCall
	all    normCall
}

// normCall is the L2 norm of some gradients, in two steps, and what is done by it.
type normCall struct{ parts, norm, clip *Launch }

// setBound writes the bound, the last argument.
func setBound(l *Launch, bound float32) { l.Args[len(l.Args)-1].Bits = uint64(math.Float32bits(bound)) }

func (m *Machine) clipCalls() clipCalls {
	n := m.plan.Grads
	calls := clipCalls{all: m.normCall(plan.Range{From: 0, To: n})}
	if n > 0 {
		calls.value = newLaunch("clip", ClipValue, elements(n), m.memory.grads, n, float32(0))
	}
	for _, r := range m.plan.Params {
		if r.To > r.From {
			calls.params = append(calls.params, m.normCall(r))
		}
	}
	return calls
}

func (m *Machine) normCall(r plan.Range) normCall {
	n, at, mem := r.To-r.From, m.memory.grads.floats(r.From), m.memory
	if n == 0 {
		return normCall{}
	}
	p := parts(n)
	return normCall{
		parts: newLaunch("clip", SumParts, p, mem.parts, at, n, true),
		norm:  newLaunch("clip", NormFinish, oneBlock(elementBlock), mem.norm, mem.parts, p.grid.X),
		clip:  newLaunch("clip", ClipNorm, elements(n), at, n, mem.norm, float32(0)),
	}
}

func (c normCall) do(d Device, bound float32) error {
	if c.clip == nil {
		return nil
	}
	setBound(c.clip, bound)
	for _, l := range [...]*Launch{c.parts, c.norm, c.clip} {
		if err := d.Launch(l); err != nil {
			return fmt.Errorf("%s: %w", l.Node, err)
		}
	}
	return nil
}

// Clip implements plan.Machine.
func (m *Machine) Clip(c plan.Clip) error {
	if m.broken != nil {
		return m.broken
	}
	m.gradsHere = false
	if err := m.clip(c); err != nil {
		return m.breakBy(err)
	}
	return nil
}

func (m *Machine) clip(c plan.Clip) error {
	d := m.gpu.device
	switch {
	case c.Value > 0 && m.clips.value != nil:
		setBound(m.clips.value, c.Value)
		return d.Launch(m.clips.value)
	case c.Norm > 0:
		for _, p := range m.clips.params {
			if err := p.do(d, c.Norm); err != nil {
				return err
			}
		}
	case c.Global > 0:
		return m.clips.all.do(d, c.Global)
	}
	return nil
}
