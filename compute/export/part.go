package export

import (
	"context"
	"errors"
	"maps"

	"github.com/stoker-ml/stoker/compute/export/partition"
	"github.com/stoker-ml/stoker/compute/nn"
)

// Part is what of a model a format can hold: all of it, or what is left when look-ups of strings
// are its caller's.
type Part struct {
	Graph  *nn.Graph
	Inputs []partition.Input // of Graph, in its order, with what to feed

	// Samples gives some rows as Graph takes them, by input.
	Samples func(ctx context.Context) (map[string]nn.Value, error)
}

// part cuts the model.
func (m Model) part(holds func(nn.Op) bool) (Part, error) {
	g, inputs, err := partition.Graph(m.Graph, holds)
	if err != nil {
		return Part{}, err
	}
	return Part{Graph: g, Inputs: m.explain(inputs), Samples: func(ctx context.Context) (map[string]nn.Value, error) {
		return m.samplesOf(ctx, g)
	}}, nil
}

// samplesOf are the model's samples, gone as far as the inputs of g, which is a part of it.
func (m Model) samplesOf(ctx context.Context, g *nn.Graph) (map[string]nn.Value, error) {
	if m.Samples == nil {
		return nil, errors.New("the format needs sample rows, and the module gives none")
	}
	rows, err := m.Samples(ctx)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(g.Inputs))
	for i, in := range g.Inputs {
		names[i] = in.Name
	}
	e, err := nn.NewEvaluator(m.Graph, names...)
	if err != nil {
		return nil, err
	}
	if err := e.Run(rows); err != nil {
		return nil, err
	}
	rows = maps.Clone(rows)
	for _, in := range g.Inputs {
		rows[in.Name] = e.Value(in.Name)
	}
	return rows, nil
}
