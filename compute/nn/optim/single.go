package optim

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/stoker-ml/stoker/compute/kernel"
	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// Single is an Optimizer that trains all weights by one Algorithm.
type Single struct {
	algorithm Algorithm
	settings  Settings

	iterations int64
	slots      [][]float32  // per slot one number for each weight
	ranges     []plan.Range // of the model's weights that it trains; nil: all
	next       []plan.Update
}

// NewSingle returns an Optimizer that trains by a, which must not change after the first step.
func NewSingle(a Algorithm) *Single { return &Single{algorithm: a} }

// Algorithm returns the one that NewSingle was given.
func (o *Single) Algorithm() Algorithm { return o.algorithm }

// Name implements Optimizer.
func (o *Single) Name() string { return o.algorithm.Name() }

// Clipping implements Updater.
func (o *Single) Clipping() Clip { return o.settings.Clip }

// Step implements Optimizer.
func (o *Single) Step(weights, grads []float32) { stepBy(o, weights, grads) }

// Updates implements Updater: one for each range of weights.
func (o *Single) Updates(weights []float32) []plan.Update {
	o.iterations++
	rule := o.algorithm.rule(&o.settings, o.iterations)
	if o.next == nil || !o.fits(weights) {
		o.lay(weights)
	}
	for i := range o.next {
		o.next[i].Rule = rule
	}
	return o.next
}

// fits reports whether the updates are of these weights.
func (o *Single) fits(weights []float32) bool {
	u := o.next[0]
	return len(u.Weights) > 0 && u.Grads.To <= len(weights) && &u.Weights[0] == &weights[u.Grads.From]
}

// lay makes the updates, and before the first step also the slots.
func (o *Single) lay(weights []float32) {
	ranges := o.ranges
	if ranges == nil {
		ranges = []plan.Range{{From: 0, To: len(weights)}}
	}
	if o.slots == nil {
		o.start(gather(weights, ranges))
	}
	o.next = o.next[:0]
	at := 0
	for _, r := range ranges {
		u := plan.Update{Grads: r, Weights: weights[r.From:r.To:r.To]}
		for _, slot := range o.slots {
			u.Slots = append(u.Slots, slot[at:at+r.To-r.From])
		}
		at += r.To - r.From
		o.next = append(o.next, u)
	}
}

// start makes the slots, given the weights before the first step.
func (o *Single) start(weights []float32) {
	for range o.slotCount() {
		o.slots = append(o.slots, make([]float32, len(weights)))
	}
	if a, ok := o.algorithm.(starter); ok {
		a.start(&o.settings, o.slots, weights)
	}
}

func (o *Single) slotCount() int { return o.algorithm.rule(&o.settings, 1).Formula.Slots() }

// State implements Optimizer.
func (o *Single) State() State {
	return State{Name: o.Name(), Iterations: o.iterations, Slots: o.slots}
}

// Restore implements Optimizer.
func (o *Single) Restore(s State) error {
	name, count := o.Name(), o.slotCount()
	if s.Name != name {
		return fmt.Errorf("state is of optimizer %q, expected %q", s.Name, name)
	}
	if len(s.Slots) != count && len(s.Slots) != 0 {
		return fmt.Errorf("state of optimizer %q has %d slots, expected %d", name, len(s.Slots), count)
	}
	o.iterations, o.slots, o.next = s.Iterations, nil, nil
	for _, slot := range s.Slots {
		o.slots = append(o.slots, append([]float32(nil), slot...))
	}
	return nil
}

// stepBy takes a step of o on the caller's thread.
func stepBy(o Updater, weights, grads []float32) {
	var pool *kernel.ThreadPool
	if c := o.Clipping(); c.Value > 0 {
		pool.ClipValue(grads, c.Value)
	} else if bound := max(c.Norm, c.Global); bound > 0 {
		pool.ClipNorm(grads, bound)
	}
	for _, u := range o.Updates(weights) {
		pool.Update(u.Rule, u.Weights, grads[u.Grads.From:u.Grads.To], u.Slots)
	}
}

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

// Config returns the name and the numbers of an optimizer's formula, by the names of Keras's
// arguments, as they are. Of Parts it returns those of each part by its prefix, without the slash;
// the part for all other weights is called rest. Clips are left out.
func Config(o Optimizer) (map[string]any, error) {
	switch o := o.(type) {
	case *Single:
		return o.config()
	case *Parts:
		all := map[string]any{}
		for _, p := range o.parts {
			of, err := p.optimizer.config()
			if err != nil {
				return nil, err
			}
			prefix := strings.TrimSuffix(p.prefix, "/")
			if prefix == "" {
				prefix = "rest"
			}
			all[prefix] = of
		}
		return all, nil
	}
	return numbersOf(o.Name(), o)
}

func (o *Single) config() (map[string]any, error) {
	all, err := numbersOf(o.Name(), o.algorithm)
	if err != nil {
		return nil, err
	}
	settings, err := numbersOf(o.Name(), o.settings)
	if err != nil {
		return nil, err
	}
	maps.Copy(all, settings)
	return all, nil
}

// numbersOf returns the exported fields of an optimizer called name, by their names in JSON.
func numbersOf(name string, of any) (map[string]any, error) {
	text, err := json.Marshal(of)
	all := map[string]any{}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("optimizer %s as JSON: %w", name, err)
	}
	all["name"] = name
	return all, nil
}
