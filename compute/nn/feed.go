package nn

import (
	"fmt"
	"slices"
)

// feed lets the front compute what it does, and writes the batch into the machine's memory.
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
	for i := range p.sparse {
		p.sparse[i].take(p.front, b.Rows)
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

// InputsOf are the names of the inputs that a node's value is made of, in the order of Graph.Inputs.
func (g *Graph) InputsOf(node string) []string {
	reached := map[string]bool{node: true}
	for _, n := range slices.Backward(g.Nodes) { // operands stand before what takes them
		if !reached[n.Name] {
			continue
		}
		for _, in := range n.In {
			reached[in] = true
		}
	}
	var names []string
	for _, in := range g.Inputs {
		if reached[in.Name] {
			names = append(names, in.Name)
		}
	}
	return names
}
