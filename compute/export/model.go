package export

import (
	"context"
	"errors"
	"maps"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/export/partition"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
	"github.com/stoker-ml/stoker/compute/train"
)

// Model is a trained model, with the properties of its features that its files need.
type Model struct {
	savedmodel.Model

	// Samples returns some rows as the graph takes them, by input: usually 200 of the training
	// data. The formats that need to see the values in the model call it; it may be nil if none of
	// those is requested.
	Samples func(ctx context.Context) (map[string]nn.Value, error)
}

// Targets are the locations that a model is written to. Each folder must not exist or be empty; ""
// leaves a file out.
type Targets struct {
	Serving string   // the SavedModel: .../Format-Serving
	Eval    string   // the model that TensorFlow Model Analysis reads: .../Format-TFMA
	Formats []string // by name, as Formats has them; each goes into its own folder next to Serving
}

// sampleRows is the number of rows with which a file format measures the values in a model.
const sampleRows = 200

// Rows is a reader of rows, as example.Reader is one.
type Rows interface {
	Next(ctx context.Context) (*example.Batch, error)
	Skip(ctx context.Context, batches int64) error
	Close() error
}

// FirstRows returns a Model.Samples that reads the first rows of some files, in their order, and
// feeds them as a training does.
func FirstRows(patterns []string, spec example.Spec, feed train.Feed) func(context.Context) (map[string]nn.Value, error) {
	return FirstRowsOf(func(batchSize int) (Rows, error) {
		return example.Open(example.Options{Patterns: patterns, Spec: spec, BatchSize: batchSize, Epochs: 1})
	}, feed)
}

// FirstRowsOf is like FirstRows, for the sources that open returns, whose batches have so many
// rows.
func FirstRowsOf(open func(batchSize int) (Rows, error), feed train.Feed) func(context.Context) (map[string]nn.Value, error) {
	return func(ctx context.Context) (rows map[string]nn.Value, err error) {
		data, err := open(sampleRows)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, data.Close()) }()
		batch, err := train.FromExamples(data, feed).Next(ctx)
		return batch.Inputs, err
	}
}

// Part is the part of a model that a format can represent: all of it, or what remains if the caller
// looks strings up.
type Part struct {
	Graph  *nn.Graph
	Inputs []partition.Input // of Graph, in its order, with what to feed

	// Samples returns some rows as Graph takes them, by input.
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

// samplesOf returns the model's samples as values of the inputs of g, which is a part of it.
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
