package optim

import (
	"fmt"
	"math"

	"github.com/stoker-ml/stoker/compute/kernel"
	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// single is an optimizer whose step is one kernel.Formula for all its weights: all but Parts.
type single interface {
	Updater
	settings() *Settings
	// rule returns the formula and its numbers at step t, from 1.
	rule(t int64) kernel.Rule
	// start fills new slots, which are 0, given the weights before the first step.
	start(slots [][]float32, weights []float32)
	memory() *slots
}

// slots is the state of every optimizer: steps taken, and per slot one number for each weight.
type slots struct {
	iterations int64
	values     [][]float32
	ranges     []plan.Range // of the model's weights that are ours; nil: all
	next       []plan.Update
}

func (s *slots) memory() *slots { return s }

// start leaves all slots at 0.
func (s *slots) start([][]float32, []float32) {}

// stepBy implements Optimizer.Step of o.
func stepBy(o Updater, weights, grads []float32) {
	var team *kernel.Team
	if c := o.Clipping(); c.Value > 0 {
		team.ClipValue(grads, c.Value)
	} else if bound := max(c.Norm, c.Global); bound > 0 {
		team.ClipNorm(grads, bound)
	}
	for _, u := range o.Updates(weights) {
		team.Update(u.Rule, u.Weights, grads[u.Grads.From:u.Grads.To], u.Slots)
	}
}

// updatesBy counts a step of o and returns one update for each of its ranges of weights.
func updatesBy(o single, weights []float32) []plan.Update {
	s := o.memory()
	s.iterations++
	rule := o.rule(s.iterations)
	if s.next == nil || !s.fits(weights) {
		s.lay(o, weights)
	}
	for i := range s.next {
		s.next[i].Rule = rule
	}
	return s.next
}

// fits reports whether the updates are of these weights.
func (s *slots) fits(weights []float32) bool {
	u := s.next[0]
	return len(u.Weights) > 0 && u.Grads.To <= len(weights) && &u.Weights[0] == &weights[u.Grads.From]
}

// lay makes the updates, and before the first step also the slots.
func (s *slots) lay(o single, weights []float32) {
	ranges := s.ranges
	if ranges == nil {
		ranges = []plan.Range{{From: 0, To: len(weights)}}
	}
	if s.values == nil {
		s.make(o, gather(weights, ranges))
	}
	s.next = s.next[:0]
	at := 0
	for _, r := range ranges {
		u := plan.Update{Grads: r, Weights: weights[r.From:r.To:r.To]}
		for _, slot := range s.values {
			u.Slots = append(u.Slots, slot[at:at+r.To-r.From])
		}
		at += r.To - r.From
		s.next = append(s.next, u)
	}
}

func (s *slots) make(o single, weights []float32) {
	for range o.rule(1).Formula.Slots() {
		s.values = append(s.values, make([]float32, len(weights)))
	}
	o.start(s.values, weights)
}

func (s *slots) state(name string) State {
	return State{Name: name, Iterations: s.iterations, Slots: s.values}
}

// restoreBy implements Optimizer.Restore of o.
func restoreBy(o single, from State) error {
	name, count := o.Name(), o.rule(1).Formula.Slots()
	if from.Name != name {
		return fmt.Errorf("state is of optimizer %q, expected %q", from.Name, name)
	}
	if len(from.Slots) != count && len(from.Slots) != 0 {
		return fmt.Errorf("state of optimizer %q has %d slots, expected %d", name, len(from.Slots), count)
	}
	s := o.memory()
	s.iterations, s.values, s.next = from.Iterations, nil, nil
	for _, slot := range from.Slots {
		s.values = append(s.values, append([]float32(nil), slot...))
	}
	return nil
}

// fill sets every element of a slot.
func fill(slot []float32, with float64) {
	for i := range slot {
		slot[i] = float32(with)
	}
}

// sqrt is correctly rounded: a float64 square root of a float32 rounds to the float32 one.
func sqrt(x float32) float32 { return float32(math.Sqrt(float64(x))) }

// gather concatenates ranges of a slice.
func gather(from []float32, ranges []plan.Range) []float32 {
	var to []float32
	for _, r := range ranges {
		to = append(to, from[r.From:r.To]...)
	}
	return to
}

// scatter is the inverse of gather.
func scatter(to, from []float32, ranges []plan.Range) {
	for _, r := range ranges {
		from = from[copy(to[r.From:r.To], from):]
	}
}
