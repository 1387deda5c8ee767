package nn

import "fmt"

// Model is a Graph that can be trained: what to minimise, and where.
type Model struct {
	Graph  *Graph
	Logits string // the node that the loss takes
	Loss   Loss

	width   int
	weights []float32
}

// NewModel checks the graph and moves its trainable params into one slice, without changing them.
func NewModel(g *Graph, logits string, loss Loss) (*Model, error) {
	types, err := g.Types()
	if err != nil {
		return nil, fmt.Errorf("graph: %w", err)
	}
	t, ok := types[logits]
	if !ok || t.Kind != Float32 {
		return nil, fmt.Errorf("logits %q: no such float node", logits)
	}
	m := &Model{Graph: g, Logits: logits, Loss: loss, width: t.Width}
	m.pack()
	return m, nil
}

// pack lets every trainable param be a view of one flat slice, so that an optimizer is one loop.
func (m *Model) pack() {
	size := 0
	for _, p := range m.Graph.Params {
		if p.Trainable {
			size += len(p.Values)
		}
	}
	m.weights = make([]float32, 0, size)
	for i := range m.Graph.Params {
		p := &m.Graph.Params[i]
		if !p.Trainable {
			continue
		}
		start := len(m.weights)
		m.weights = append(m.weights, p.Values...)
		p.Values = m.weights[start:len(m.weights):len(m.weights)]
	}
}

// Weights are the trainable params in the order of Graph.Params, one after the other. Writing to them changes the model.
func (m *Model) Weights() []float32 { return m.weights }

// Width is the width of the logits, and so of the targets.
func (m *Model) Width() int { return m.width }
