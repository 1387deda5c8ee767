package nn

import "fmt"

// Batch is what one step learns from.
type Batch struct {
	Rows    int
	Inputs  map[string]Value
	Targets []float32 // [Rows, Model.Width]
	Weights []float32 // of each row; nil for 1 each
}

// Gradients is the loss of the batch, the weighted mean over its rows, and its slope along each of Model.Weights, valid until
// the next call.
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
	return loss, p.grads, nil
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

// weigh sets what each row counts: its weight over the sum of weights.
func (p *Program) weigh(b Batch) error {
	if b.Weights != nil && len(b.Weights) != b.Rows {
		return fmt.Errorf("%d weights for %d rows", len(b.Weights), b.Rows)
	}
	sum := 0.0
	for r := range b.Rows {
		sum += float64(weightOf(b.Weights, r))
	}
	if sum <= 0 {
		return fmt.Errorf("the weights of the batch add up to %g, expected more than 0", sum)
	}
	clear(p.weight)
	for r := range b.Rows {
		w := float32(float64(weightOf(b.Weights, r)) / sum)
		for j := range p.model.width {
			p.weight[r*p.model.width+j] = w
		}
	}
	return nil
}

func weightOf(weights []float32, row int) float32 {
	if weights == nil {
		return 1
	}
	return weights[row]
}
