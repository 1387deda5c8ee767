package export

import (
	"context"
	"errors"

	"github.com/stoker-ml/stoker/compute/example"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/train"
)

// sampleRows is how many rows show a file format what passes through a model.
const sampleRows = 200

// FirstRows is a Model.Samples that reads the first rows of some files, in their order, and feeds them as a training does.
func FirstRows(patterns []string, spec example.Spec, feed train.Feed) func(context.Context) (map[string]nn.Value, error) {
	return func(ctx context.Context) (rows map[string]nn.Value, err error) {
		data, err := example.Open(example.Options{Patterns: patterns, Spec: spec, BatchSize: sampleRows, Epochs: 1})
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, data.Close()) }()
		batch, err := train.FromExamples(data, feed).Next(ctx)
		return batch.Inputs, err
	}
}
