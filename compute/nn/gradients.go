package nn

import "fmt"

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
	if err := p.feed(b); err != nil {
		return 0, nil, err
	}
	p.machine.Reset()
	if err := p.machine.RunAll(); err != nil {
		return 0, nil, fmt.Errorf("run gorgonia: %w", err)
	}
	for _, s := range p.slopes {
		slopes, ok := s.value.Data().([]float32)
		if !ok || len(slopes) != len(s.into) {
			return 0, nil, fmt.Errorf("gorgonia gave a gradient of shape %v for %d weights", s.value.Shape(), len(s.into))
		}
		copy(s.into, slopes)
	}
	loss, ok := p.loss.Data().(float32)
	if !ok {
		return 0, nil, fmt.Errorf("gorgonia gave a loss of shape %v, expected a scalar", p.loss.Shape())
	}
	if err := p.move(); err != nil {
		return 0, nil, err
	}
	p.steps++
	return loss, p.grads, nil
}

// Resume makes the next step the one after so many: what a Dropout draws depends on how many steps there were.
func (p *Program) Resume(steps int) { p.steps = uint64(steps) }

// move takes the batch into the moving averages.
func (p *Program) move() error {
	for _, m := range p.moments {
		mean, ok := m.mean.Data().([]float32)
		variance, ok2 := m.variance.Data().([]float32)
		if !ok || !ok2 {
			return fmt.Errorf("gorgonia gave statistics of shapes %v and %v", m.mean.Shape(), m.variance.Shape())
		}
		if err := m.average.move(mean, variance); err != nil {
			return err
		}
	}
	return nil
}

func (p *Program) feed(b Batch) error {
	if b.Rows < 1 || b.Rows > p.batch {
		return fmt.Errorf("batch of %d rows, expected 1 to %d", b.Rows, p.batch)
	}
	if len(b.Targets) != b.Rows*p.model.width {
		return fmt.Errorf("%d targets for %d rows of width %d", len(b.Targets), b.Rows, p.model.width)
	}
	if err := p.front.Run(b.Inputs); err != nil {
		return err
	}
	if len(p.front.inputs) > 0 && p.front.rows != b.Rows {
		return fmt.Errorf("inputs have %d rows, the batch says %d", p.front.rows, b.Rows)
	}
	for _, f := range p.feeds {
		f.take(p.front.Value(f.name), p.batch)
	}
	p.shareRows(b.Rows)
	pad(p.target, b.Targets, p.model.width)
	return p.weigh(b)
}

// take copies v, padded to the batch with its first row: rows of weight 0 must still be in the range of what they meet.
func (f feed) take(v Value, batch int) {
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

// shareRows sets what each row counts in the statistics of a batch.
func (p *Program) shareRows(rows int) {
	clear(p.share)
	for r := range min(rows, len(p.share)) {
		p.share[r] = 1 / float32(rows)
	}
}

// weigh sets what each row counts in the loss, for each number of the logits.
func (p *Program) weigh(b Batch) error {
	if b.Weights != nil && len(b.Weights) != b.Rows {
		return fmt.Errorf("%d weights for %d rows", len(b.Weights), b.Rows)
	}
	whole, err := p.model.whole(b)
	if err != nil {
		return err
	}
	clear(p.weight)
	for r := range b.Rows {
		w := float32(p.model.weight(b, r) / whole)
		for j := range p.model.width {
			p.weight[r*p.model.width+j] = w
		}
	}
	return nil
}
