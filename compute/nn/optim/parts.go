package optim

import (
	"fmt"
	"strings"

	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// Part is some of a model's params and the optimizer that trains them.
type Part struct {
	Prefix    string // of the params' names: linear/; "" for those that no other part has
	Optimizer Optimizer
}

// Parts is an Optimizer made of one for each part of a model: wide & deep trains its linear part by
// another formula than its deep one. It has as many slots as the part with most; those that a part
// lacks stay 0.
type Parts struct {
	clip  Clip
	parts []part
	size  int
	all   []plan.Update
}

// part is a Part and where its weights are, as ranges of the weights.
type part struct {
	prefix    string
	optimizer *Single
	ranges    []plan.Range
}

// Param is one of those that weights are made of, one after the other.
type Param struct {
	Name string
	Size int // in numbers
}

// NewParts assigns each of params, which nn.Model.Trainable lists, to the part with the longest
// prefix of its name. It returns an error for a param without a part, and for a part without
// params.
func NewParts(params []Param, parts ...Part) (*Parts, error) {
	o := &Parts{}
	for _, p := range parts {
		optimizer, ok := p.Optimizer.(*Single)
		if !ok {
			return nil, fmt.Errorf("part %q: optimizer %q is none that optim.New knows", p.Prefix, p.Optimizer.Name())
		}
		if optimizer.Clipping() != (Clip{}) {
			return nil, fmt.Errorf("part %q: gradients are clipped for all parts at once, by WithSettings of the Parts", p.Prefix)
		}
		o.parts = append(o.parts, part{prefix: p.Prefix, optimizer: optimizer})
	}
	for _, p := range params {
		if err := o.give(p); err != nil {
			return nil, err
		}
	}
	if err := o.settle(); err != nil {
		return nil, err
	}
	return o, nil
}

// settle gives each optimizer the ranges of its weights.
func (o *Parts) settle() error {
	for _, p := range o.parts {
		if len(p.ranges) == 0 {
			return fmt.Errorf("no param is left for the part %q", p.prefix)
		}
	}
	taken := map[*Single]bool{}
	for _, p := range o.parts {
		if taken[p.optimizer] {
			return fmt.Errorf("part %q: its optimizer is another part's too", p.prefix)
		}
		taken[p.optimizer] = true
		p.optimizer.ranges = p.ranges
	}
	return nil
}

func (o *Parts) give(param Param) error {
	var taker *part
	for i := range o.parts {
		p := &o.parts[i]
		if strings.HasPrefix(param.Name, p.prefix) && (taker == nil || len(p.prefix) > len(taker.prefix)) {
			taker = p
		}
	}
	if taker == nil {
		return fmt.Errorf("param %q belongs to no part", param.Name)
	}
	taker.take(plan.Range{From: o.size, To: o.size + param.Size})
	o.size += param.Size
	return nil
}

// Name lists the parts: parts(linear/: ftrl, dnn/: adagrad).
func (o *Parts) Name() string {
	var names []string
	for _, p := range o.parts {
		names = append(names, p.prefix+": "+p.optimizer.Name())
	}
	return "parts(" + strings.Join(names, ", ") + ")"
}

// configure sets the Schedule of each part; Clip applies to all together.
func (o *Parts) configure(s Settings) {
	o.clip = s.Clip
	for _, p := range o.parts {
		if s.Schedule != nil {
			p.optimizer.settings.Schedule = s.Schedule
		}
	}
}

// Clipping implements Updater.
func (o *Parts) Clipping() Clip { return o.clip }

// Updates implements Updater: those of the parts, one after the other.
func (o *Parts) Updates(weights []float32) []plan.Update {
	o.all = o.all[:0]
	for _, p := range o.parts {
		o.all = append(o.all, p.optimizer.Updates(weights)...)
	}
	return o.all
}

// Step implements Optimizer.
func (o *Parts) Step(weights, grads []float32) { stepBy(o, weights, grads) }

// State implements Optimizer. A slot holds those of the parts, in the order of the weights.
func (o *Parts) State() State {
	s := State{Name: o.Name()}
	for _, p := range o.parts {
		state := p.optimizer.State()
		s.Iterations = state.Iterations
		for i, slot := range state.Slots {
			if i == len(s.Slots) {
				s.Slots = append(s.Slots, make([]float32, o.size))
			}
			scatter(s.Slots[i], slot, p.ranges)
		}
	}
	return s
}

// Restore implements Optimizer.
func (o *Parts) Restore(s State) error {
	if s.Name != o.Name() {
		return fmt.Errorf("state is of optimizer %q, expected %q", s.Name, o.Name())
	}
	for _, p := range o.parts {
		state := State{Name: p.optimizer.Name(), Iterations: s.Iterations}
		for _, slot := range s.Slots[:min(p.optimizer.slotCount(), len(s.Slots))] {
			if len(slot) != o.size {
				return fmt.Errorf("state of optimizer %q has a slot of %d values, expected %d", s.Name, len(slot), o.size)
			}
			state.Slots = append(state.Slots, gather(slot, p.ranges))
		}
		if err := p.optimizer.Restore(state); err != nil {
			return err
		}
	}
	return nil
}

// take appends a range, joined to the last one if that ends where it starts.
func (p *part) take(r plan.Range) {
	if n := len(p.ranges); n > 0 && p.ranges[n-1].To == r.From {
		p.ranges[n-1].To = r.To
		return
	}
	p.ranges = append(p.ranges, r)
}
