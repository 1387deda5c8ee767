package nn

import "slices"

// inTraining is g as a training computes it, with the same params.
func (g *Graph) inTraining() *Graph {
	if g.Training == nil {
		return g
	}
	t := *g
	t.Nodes, t.Training, t.Outputs = g.Training, nil, nil
	return &t
}

// train adds a node to those of the training.
func (b *Builder) train(n Node) { b.training = append(b.training, n) }

// serve adds a node to those of the model, which lacks what there is in training alone.
func (b *Builder) serve(n Node) {
	n.In = slices.Clone(n.In)
	for i := range n.In {
		n.In[i] = b.stand(n.In[i])
	}
	b.graph.Nodes = append(b.graph.Nodes, n)
}

// stand is what the model has for a value of the training.
func (b *Builder) stand(name string) string {
	if other, ok := b.stands[name]; ok {
		return other
	}
	return name
}

// differs says whether the training has nodes of its own.
func (b *Builder) differs() bool {
	return slices.ContainsFunc(b.training, func(n Node) bool { return trainsOnly(n.Op) })
}

// trainsOnly says whether op is one of Graph.Training alone. Such a node is computed in the expression, whether or not a trained
// param reaches it.
func trainsOnly(op Op) bool { return op == OpDropout || op == OpStandardize }

// trainingOp is the rule of the ops of Graph.Training.
func (c *checker) trainingOp(n *Node) (Type, error) {
	if n.Op == OpDropout {
		return c.same(n, Float32)
	}
	return c.standardized(n)
}
