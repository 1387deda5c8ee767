package nn

import (
	"fmt"
	"slices"

	"github.com/stoker-ml/stoker/compute/nn/optim"
)

// Model is a Graph that can be trained, with the loss to minimize.
type Model struct {
	Graph  *Graph
	Logits string // the node whose value the loss uses
	Loss   Loss

	// Weight of each class's rows in training, in addition to the row's own; nil: 1 each. See
	// weight.go.
	ClassWeights []float32
	Reduction    Reduction // how the rows' losses are combined to a batch's

	width   int
	weights []float32
	moving  []float32
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
	if err := checkLoss(loss); err != nil {
		return nil, err
	}
	m := &Model{Graph: g, Logits: logits, Loss: loss, width: t.Width}
	m.weights = g.pack(func(p *Param) bool { return p.Trainable })
	m.moving = g.pack(func(p *Param) bool { return p.Moving })
	return m, nil
}

// pack makes every param that meant selects a view of one flat slice, so that an optimizer is one
// loop.
func (g *Graph) pack(meant func(*Param) bool) []float32 {
	size := 0
	for i := range g.Params {
		if meant(&g.Params[i]) {
			size += len(g.Params[i].Values)
		}
	}
	flat := make([]float32, 0, size)
	for i := range g.Params {
		p := &g.Params[i]
		if !meant(p) {
			continue
		}
		start := len(flat)
		flat = append(flat, p.Values...)
		p.Values = flat[start:len(flat):len(flat)]
	}
	return flat
}

// Weights returns the trainable params in the order of Graph.Params, one after the other. Writing
// to them changes the model.
func (m *Model) Weights() []float32 { return m.weights }

// Trainable returns the params that Weights consists of, in their order, for optim.NewParts.
func (m *Model) Trainable() []optim.Param {
	var params []optim.Param
	for _, p := range m.Graph.Params {
		if p.Trainable {
			params = append(params, optim.Param{Name: p.Name, Size: len(p.Values)})
		}
	}
	return params
}

// Moving returns the params that are moving averages, like Weights. A checkpoint has both.
func (m *Model) Moving() []float32 { return m.moving }

// Width returns the width of the logits, and so of the targets.
func (m *Model) Width() int { return m.width }

// ForTraining returns g with the nodes for training, and the same params.
func (g *Graph) ForTraining() *Graph {
	if g.Training == nil {
		return g
	}
	t := *g
	t.Nodes, t.Training, t.Outputs = g.Training, nil, nil
	return &t
}

// train adds a node for training.
func (b *Builder) train(n Node) { b.training = append(b.training, n) }

// serve adds a node for prediction, where nodes that exist only in training are replaced.
func (b *Builder) serve(n Node) {
	n.In = slices.Clone(n.In)
	for i := range n.In {
		n.In[i] = b.stand(n.In[i])
	}
	b.graph.Nodes = append(b.graph.Nodes, n)
}

// stand returns the replacement of a training's value in prediction.
func (b *Builder) stand(name string) string {
	if other, ok := b.stands[name]; ok {
		return other
	}
	return name
}

// differs reports whether the training has nodes of its own.
func (b *Builder) differs() bool {
	return slices.ContainsFunc(b.training, func(n Node) bool { return n.Op.TrainingOnly() })
}

// trainingOp is the rule of the ops of Graph.Training.
func (c *checker) trainingOp(n *Node) (Type, error) {
	if n.Op == OpDropout {
		return c.same(n, Float32)
	}
	return c.standardized(n)
}

// Batch is the input of one step.
type Batch struct {
	Rows    int
	Inputs  map[string]Value
	Targets []float32 // [Rows, Model.Width]
	Weights []float32 // of each row; nil for 1 each
}
