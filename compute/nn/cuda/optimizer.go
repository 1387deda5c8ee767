package cuda

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/stoker-ml/stoker/compute/kernel"
	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// updateKey identifies an Update of a model by the memory that it changes.
type updateKey struct {
	formula *kernel.Formula
	weights *float32
	slot    *float32
	from    int
	n       int
}

// updateCalls are the launches of an Update, one for each contiguous range of weights on the
// device.
type updateCalls struct {
	launches []*Launch
}

// Update implements plan.Machine. It copies weights and slots to the device when they occur for the
// first time.
func (m *Machine) Update(list []plan.Update) error {
	if m.broken != nil {
		return m.broken
	}
	for i := range list {
		if err := m.update(&list[i]); err != nil {
			return err
		}
	}
	return nil
}

func (m *Machine) update(u *plan.Update) error {
	n := len(u.Weights)
	if n == 0 {
		return nil
	}
	key := updateKey{formula: u.Rule.Formula, weights: unsafe.SliceData(u.Weights), from: u.Grads.From, n: n}
	if len(u.Slots) > 0 {
		key.slot = unsafe.SliceData(u.Slots[0])
	}
	calls := m.updates[key]
	if calls == nil {
		var err error
		if calls, err = m.prepare(u); err != nil {
			return fmt.Errorf("update of %d weights: %w", n, err)
		}
		m.updates[key] = calls
	}
	for _, l := range calls.launches {
		setRule(l.Args, &u.Rule)
		if err := m.gpu.device.Launch(l); err != nil {
			return m.breakBy(fmt.Errorf("%s: %w", l.Node, err))
		}
	}
	return nil
}

// prepare makes the launches of an Update.
func (m *Machine) prepare(u *plan.Update) (*updateCalls, error) {
	n := len(u.Weights)
	if u.Grads.From < 0 || u.Grads.To > m.plan.Grads || u.Grads.To-u.Grads.From != n {
		return nil, fmt.Errorf("gradients %d..%d of %d", u.Grads.From, u.Grads.To, m.plan.Grads)
	}
	if len(u.Slots) < u.Rule.Formula.Slots() {
		return nil, fmt.Errorf("%d slots, expected %d", len(u.Slots), u.Rule.Formula.Slots())
	}
	slots := u.Slots[:u.Rule.Formula.Slots()]
	for i, s := range slots {
		if len(s) != n {
			return nil, fmt.Errorf("slot %d has %d elements", i, len(s))
		}
		if err := m.mirrorAll("an optimizer's slots", s); err != nil {
			return nil, err
		}
	}
	if err := m.mirrorAll("params", u.Weights); err != nil {
		return nil, err
	}
	calls, code := &updateCalls{}, packed(u.Rule.Formula)
	numbers, decay := u.Rule.Rounded()
	for from := 0; from < n; {
		stretch := n - from
		args := make([]Pointer, 4)
		for i, s := range append([][]float32{u.Weights}, slots...) {
			at, have := m.mirror.find(s[from:])
			args[i], stretch = at, min(stretch, have)
		}
		if stretch == 0 {
			return nil, fmt.Errorf("weight %d or a slot of it has no copy on the device", from)
		}
		calls.launches = append(calls.launches, newLaunch("update", Update, elements(stretch), args[0], m.memory.grads.floats(u.Grads.From+from),
			args[1], args[2], args[3], stretch, len(slots), len(u.Rule.Formula.Code()),
			code[0], code[1], code[2], code[3], code[4], code[5], decay, numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]))
		from += stretch
	}
	return calls, nil
}

// mirrorAll copies those parts of s to the device that have no copy there yet.
func (m *Machine) mirrorAll(what string, s []float32) error {
	for len(s) > 0 {
		if _, have := m.mirror.find(s); have > 0 {
			s = s[have:]
			continue
		}
		missing := m.mirror.missing(s)
		if err := m.mirror.add(what, true, s[:missing]); err != nil {
			return err
		}
		s = s[missing:]
	}
	return nil
}

// packed returns a formula's instructions as the kernel reads them: four in each word, the first in
// the lowest bits; of each instruction the operation in the highest four bits, then the registers
// of the result and of both operands.
func packed(f *kernel.Formula) (words [kernel.MaxInstructions / 4]uint64) {
	for i, in := range f.Code() {
		bits := uint64(in.Op)<<12 | uint64(in.To)<<8 | uint64(in.X)<<4 | uint64(in.Y)
		words[i/4] |= bits << (i % 4 * 16)
	}
	return words
}

// decayArg is the index of the first of the kernel's arguments that change from step to step.
const decayArg = 14

// setRule writes a rule's numbers to the arguments, rounded as in package kernel.
func setRule(args []Arg, r *kernel.Rule) {
	numbers, decay := r.Rounded()
	args[decayArg].Bits = uint64(math.Float32bits(decay))
	for i, x := range numbers {
		args[decayArg+1+i].Bits = uint64(math.Float32bits(x))
	}
}

// clipCalls clip gradients: each number, or by their norm those of each param, or all together.
type clipCalls struct {
	value  *Launch
	params []normCall
	all    normCall
}

// normCall computes the L2 norm of some gradients, in two steps, and clips by it.
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
