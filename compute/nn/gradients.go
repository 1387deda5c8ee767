package nn

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/nn/optim"
	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// Batch is what one step learns from.
type Batch struct {
	Rows    int
	Inputs  map[string]Value
	Targets []float32 // [Rows, Model.Width]
	Weights []float32 // of each row; nil for 1 each
}

// Gradients is one step of a training, but for the weights: the loss of the batch, over its rows as Model.Reduction says and with
// what Model.Penalty adds, and its slope along each of Model.Weights, valid until the next call. Params that are moving averages
// take the batch in.
func (p *Program) Gradients(b Batch) (loss float32, grads []float32, err error) {
	if err := p.here(); err != nil {
		return 0, nil, err
	}
	if loss, err = p.forwardAndBack(b); err != nil {
		return 0, nil, err
	}
	return loss, p.machine.Grads(), nil
}

// Step is Gradients, and then one step of o on Model.Weights. A loss that isn't finite changes nothing but moving averages: it is
// given back, and so is the step. It allocates nothing after the first, with an optim.Updater, as all of optim's are; any other
// optimizer has its own Step called. Params that the loss doesn't need stay as they are; in that Step, they have gradient 0.
func (p *Program) Step(b Batch, o optim.Optimizer) (loss float32, err error) {
	u, ok := o.(optim.Updater)
	if !ok {
		loss, grads, err := p.Gradients(b)
		if err == nil && finite(loss) {
			o.Step(p.model.weights, grads)
		}
		return loss, err
	}
	if loss, err = p.forwardAndBack(b); err != nil || !finite(loss) {
		return loss, err
	}
	if clip := u.Clipping(); clip != (optim.Clip{}) {
		if err := p.machine.Clip(clip); err != nil {
			return loss, fmt.Errorf("clip gradients: %w", err)
		}
	}
	p.ahead = true
	if err := p.machine.Update(p.learned.of(u.Updates(p.model.weights))); err != nil {
		return loss, fmt.Errorf("update weights: %w", err)
	}
	return loss, nil
}

func finite(x float32) bool { return x-x == 0 }

// Sync brings here what a device has changed: Model.Weights, and what an optimizer's State gives.
func (p *Program) Sync() error {
	if !p.ahead {
		return nil
	}
	err := p.machine.Sync()
	p.ahead = err != nil
	return err
}

// here makes the weights here those that count, after all that was done elsewhere.
func (p *Program) here() error {
	if err := p.Sync(); err != nil {
		return err
	}
	return p.machine.Push()
}

func (p *Program) forwardAndBack(b Batch) (loss float32, err error) {
	if err := p.feed(b); err != nil {
		return 0, err
	}
	if loss, err = p.machine.Step(p.steps); err != nil {
		return 0, err
	}
	if err := p.move(); err != nil {
		return 0, err
	}
	p.steps++
	return loss, nil
}

// Resume makes the next step the one after so many: what a Dropout draws depends on how many steps there were.
func (p *Program) Resume(steps int) { p.steps = uint64(steps) }

// move takes the batch into the moving averages.
func (p *Program) move() error {
	for _, m := range p.moments {
		if err := m.average.move(m.mean, m.variance); err != nil {
			return err
		}
	}
	return nil
}

// learned are the weights that the loss needs. An optimizer leaves the others as they are, as Keras's do: by a gradient of 0 a rule
// with a decay, or FTRL, would change them.
type learned struct {
	ranges []plan.Range // of Model.Weights, none adjacent to another
	rest   bool         // there are others

	updates []plan.Update
	slots   [][]float32 // of updates, one after the other
}

// take adds the next n weights: those of one param.
func (l *learned) take(at, n int, needed bool) {
	last := len(l.ranges) - 1
	switch {
	case !needed:
		l.rest = true
	case last >= 0 && l.ranges[last].To == at:
		l.ranges[last].To += n
	default:
		l.ranges = append(l.ranges, plan.Range{From: at, To: at + n})
	}
}

// of are the updates of the weights that the loss needs, valid until the next call.
func (l *learned) of(updates []plan.Update) []plan.Update {
	if !l.rest {
		return updates
	}
	l.updates, l.slots = l.updates[:0], l.slots[:0]
	for _, u := range updates {
		for _, r := range l.ranges {
			if from, to := max(r.From, u.Grads.From), min(r.To, u.Grads.To); from < to {
				l.updates = append(l.updates, l.part(u, plan.Range{From: from, To: to}))
			}
		}
	}
	return l.updates
}

// part is u for some of its weights.
func (l *learned) part(u plan.Update, r plan.Range) plan.Update {
	from, to, before := r.From-u.Grads.From, r.To-u.Grads.From, len(l.slots)
	for _, slot := range u.Slots {
		l.slots = append(l.slots, slot[from:to])
	}
	return plan.Update{Rule: u.Rule, Grads: r, Weights: u.Weights[from:to], Slots: l.slots[before:len(l.slots):len(l.slots)]}
}
