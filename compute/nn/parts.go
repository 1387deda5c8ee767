package nn

import (
	"fmt"
	"strings"
)

// Part is some of a model's params and the optimizer that trains them.
type Part struct {
	Prefix    string // of the params' names: linear/; "" for those that no other part has
	Optimizer Optimizer
}

// Parts is an Optimizer made of one for each part of a model: wide & deep trains its linear part by another rule than its deep
// one. Slots: as many as the part with most has; those that a part lacks stay 0.
type Parts struct {
	parts []part
	size  int
}

// part is a Part and where its weights are, as ranges of Model.Weights.
type part struct {
	prefix         string
	optimizer      slotted
	ranges         [][2]int
	weights, grads []float32
}

// slotted is an Optimizer of this room, which knows how many slots it has before it has them.
type slotted interface {
	Optimizer
	slotCount() int
}

// NewParts gives each trainable param of m to the part with its prefix, the longest where there is more than one. A param that no
// part takes is an error, and so is a part without params.
func NewParts(m *Model, parts ...Part) (*Parts, error) {
	o := &Parts{}
	for _, p := range parts {
		optimizer, ok := p.Optimizer.(slotted)
		if !ok {
			return nil, fmt.Errorf("part %q: optimizer %q is none that NewOptimizer knows", p.Prefix, p.Optimizer.Name())
		}
		o.parts = append(o.parts, part{prefix: p.Prefix, optimizer: optimizer})
	}
	for _, p := range m.Graph.Params {
		if !p.Trainable {
			continue
		}
		if err := o.give(p); err != nil {
			return nil, err
		}
	}
	for i := range o.parts {
		p := &o.parts[i]
		if len(p.ranges) == 0 {
			return nil, fmt.Errorf("no param is left for the part %q", p.prefix)
		}
		p.weights, p.grads = make([]float32, p.size()), make([]float32, p.size())
	}
	return o, nil
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
	taker.ranges = append(taker.ranges, [2]int{o.size, o.size + len(param.Values)})
	o.size += len(param.Values)
	return nil
}

// Name is like parts(linear/: ftrl, dnn/: adagrad).
func (o *Parts) Name() string {
	var names []string
	for _, p := range o.parts {
		names = append(names, p.prefix+": "+p.optimizer.Name())
	}
	return "parts(" + strings.Join(names, ", ") + ")"
}

// Step lets each optimizer take its part.
func (o *Parts) Step(weights, grads []float32) {
	for i := range o.parts {
		p := &o.parts[i]
		p.gather(p.weights, weights)
		p.gather(p.grads, grads)
		p.optimizer.Step(p.weights, p.grads)
		p.scatter(weights, p.weights)
	}
}

// State puts the parts' slots side by side, each where the weights are that it belongs to.
func (o *Parts) State() OptimizerState {
	s := OptimizerState{Name: o.Name()}
	for _, p := range o.parts {
		state := p.optimizer.State()
		s.Iterations = state.Iterations
		for i, slot := range state.Slots {
			if i == len(s.Slots) {
				s.Slots = append(s.Slots, make([]float32, o.size))
			}
			p.scatter(s.Slots[i], slot)
		}
	}
	return s
}

// Restore implements Optimizer.
func (o *Parts) Restore(s OptimizerState) error {
	if s.Name != o.Name() {
		return fmt.Errorf("state is of optimizer %q, expected %q", s.Name, o.Name())
	}
	for _, p := range o.parts {
		state := OptimizerState{Name: p.optimizer.Name(), Iterations: s.Iterations}
		for _, slot := range s.Slots[:min(p.optimizer.slotCount(), len(s.Slots))] {
			if len(slot) != o.size {
				return fmt.Errorf("state of optimizer %q has a slot of %d values, expected %d", s.Name, len(slot), o.size)
			}
			values := make([]float32, p.size())
			p.gather(values, slot)
			state.Slots = append(state.Slots, values)
		}
		if err := p.optimizer.Restore(state); err != nil {
			return err
		}
	}
	return nil
}

func (p part) size() int {
	n := 0
	for _, r := range p.ranges {
		n += r[1] - r[0]
	}
	return n
}

// gather copies the part's elements of from, one for each weight of the model, to.
func (p part) gather(to, from []float32) {
	for _, r := range p.ranges {
		to = to[copy(to, from[r[0]:r[1]]):]
	}
}

// scatter is the way back.
func (p part) scatter(to, from []float32) {
	for _, r := range p.ranges {
		from = from[copy(to[r[0]:r[1]], from):]
	}
}
