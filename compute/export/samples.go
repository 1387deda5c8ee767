package export

import (
	"context"
	"errors"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/train"
)

// sampleRows is how many rows show a file format what passes through a model.
const sampleRows = 200

// Rows is a reader of rows, as example.Reader is one.
type Rows interface {
	Next(ctx context.Context) (*example.Batch, error)
	Skip(ctx context.Context, batches int64) error
	Close() error
}

// FirstRows is a Model.Samples that reads the first rows of some files, in their order, and feeds
// them as a training does.
func FirstRows(patterns []string, spec example.Spec, feed train.Feed) func(context.Context) (map[string]nn.Value, error) {
	return FirstRowsOf(func(batchSize int) (Rows, error) {
		return example.Open(example.Options{Patterns: patterns, Spec: spec, BatchSize: batchSize, Epochs: 1})
	}, feed)
}

// FirstRowsOf is FirstRows of what open gives, whose batches have so many rows.
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
