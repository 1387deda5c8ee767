package autodiff

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/optim"
	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// Gradients is one step of a training without the update of the weights: it returns the loss of the
// batch, combined as Model.Reduction defines and including Model.Penalty, and its slope along each
// of Model.Weights, valid until the next call. It updates params that are moving averages.
func (p *Program) Gradients(b nn.Batch) (loss float32, grads []float32, err error) {
	if err := p.here(); err != nil {
		return 0, nil, err
	}
	if loss, err = p.forwardAndBack(b); err != nil {
		return 0, nil, err
	}
	return loss, p.machine.Grads(), nil
}

// Step is Gradients, followed by one step of o on Model.Weights. If the loss isn't finite it is
// returned, only moving averages change, and the step does not count. Step allocates nothing after
// the first call with an optim.Updater, as all of optim's are; for any other optimizer it calls
// o.Step. Params that the loss doesn't need do not change; in o.Step they have gradient 0.
func (p *Program) Step(b nn.Batch, o optim.Optimizer) (loss float32, err error) {
	u, ok := o.(optim.Updater)
	if !ok {
		loss, grads, err := p.Gradients(b)
		if err == nil && finite(loss) {
			o.Step(p.model.Weights(), grads)
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
	if err := p.machine.Update(p.learned.of(u.Updates(p.model.Weights()))); err != nil {
		return loss, fmt.Errorf("update weights: %w", err)
	}
	return loss, nil
}

func finite(x float32) bool { return x-x == 0 }

// Sync copies what a device has changed to this computer: Model.Weights, and an optimizer's State.
func (p *Program) Sync() error {
	if !p.ahead {
		return nil
	}
	err := p.machine.Sync()
	p.ahead = err != nil
	return err
}

// here makes this computer's weights current, after all that was done on the device.
func (p *Program) here() error {
	if err := p.Sync(); err != nil {
		return err
	}
	return p.machine.Push()
}

func (p *Program) forwardAndBack(b nn.Batch) (loss float32, err error) {
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

// Resume sets the number of steps taken, on which the random elements of a Dropout depend.
func (p *Program) Resume(steps int) { p.steps = uint64(steps) }

// move adds the batch to the moving averages.
func (p *Program) move() error {
	for _, m := range p.moments {
		if err := m.average.move(m.mean, m.variance); err != nil {
			return err
		}
	}
	return nil
}

// learned are the weights that the loss needs. An optimizer does not change the others, as in
// Keras: with a gradient of 0 a rule with a decay, or FTRL, would change them.
type learned struct {
	ranges []plan.Range // of Model.Weights, none adjacent to another
	rest   bool         // there are others

	updates []plan.Update
	slots   [][]float32 // slots of updates, one after the other
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

// of returns the updates of the weights that the loss needs, valid until the next call.
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

// part returns u for some of its weights.
func (l *learned) part(u plan.Update, r plan.Range) plan.Update {
	from, to, before := r.From-u.Grads.From, r.To-u.Grads.From, len(l.slots)
	for _, slot := range u.Slots {
		l.slots = append(l.slots, slot[from:to])
	}
	return plan.Update{Rule: u.Rule, Grads: r, Weights: u.Weights[from:to], Slots: l.slots[before:len(l.slots):len(l.slots)]}
}

// feed has the front compute its values, and writes the batch into the machine's memory.
func (p *Program) feed(b nn.Batch) error {
	if b.Rows < 1 || b.Rows > p.batch {
		return fmt.Errorf("batch of %d rows, expected 1 to %d", b.Rows, p.batch)
	}
	if len(b.Targets) != b.Rows*p.model.Width() {
		return fmt.Errorf("%d targets for %d rows of width %d", len(b.Targets), b.Rows, p.model.Width())
	}
	if err := p.front.Run(b.Inputs); err != nil {
		return err
	}
	if p.hasInputs && p.front.Rows() != b.Rows {
		return fmt.Errorf("inputs have %d rows, the batch says %d", p.front.Rows(), b.Rows)
	}
	for _, f := range p.feeds {
		f.take(p.front.Value(f.name), p.batch)
	}
	for i := range p.sparse {
		p.sparse[i].take(p.front, b.Rows)
	}
	p.shareRows(b.Rows)
	pad(p.target, b.Targets, p.model.Width())
	return p.model.WeighRows(p.weight, b)
}

// take copies v, padded to the batch with its first row: values of rows of weight 0 must also be in
// range.
func (f feed) take(v nn.Value, batch int) {
	if f.ints == nil {
		pad(f.floats, v.Floats, v.Width)
		return
	}
	for i := range batch * v.Width {
		from := i
		if i >= len(v.Ints) {
			from = i % v.Width
		}
		f.ints[i] = int(v.Ints[from])
	}
}

func pad(to, from []float32, width int) {
	for n := copy(to, from); n < len(to); n += width {
		copy(to[n:], from[:width])
	}
}

// shareRows sets how much each row counts in the statistics of a batch.
func (p *Program) shareRows(rows int) {
	clear(p.share)
	for r := range min(rows, len(p.share)) {
		p.share[r] = 1 / float32(rows)
	}
}
