package builtin

import (
	"context"
	"fmt"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/export"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/transform"
	"github.com/stoker-ml/stoker/compute/train"
)

// transform has raw examples go through the transform graph as they are read. What comes out is what Transform would have
// written, so that nothing is learnt otherwise than from transformed examples.
func (d *dataset) transform() (err error) {
	if d.raw, err = transform.Open(d.graph); err != nil {
		return err
	}
	for _, f := range d.spec {
		made, ok := d.raw.Spec().Find(f.Name)
		if !ok || made.Kind != f.Kind || made.VarLen() != f.VarLen() || made.Size() != f.Size() {
			return fmt.Errorf("%w: transformed feature %q: the graph and its schema don't agree", example.ErrInput, f.Name)
		}
	}
	return nil
}

// open reads examples as the model takes them; o says all but which features.
func (d dataset) open(o example.Options) (transform.Reader, error) {
	if d.raw == nil {
		o.Spec = d.spec
		return example.Open(o)
	}
	o.Spec = d.raw.Raw()
	r, err := example.Open(o)
	if err != nil {
		return nil, err
	}
	return d.raw.Source(r), nil
}

// samples are the first rows, as they are learnt from.
func (d dataset) samples(patterns []string, feed train.Feed) func(context.Context) (map[string]nn.Value, error) {
	return export.FirstRowsOf(func(batchSize int) (export.Rows, error) {
		return d.open(example.Options{Patterns: patterns, BatchSize: batchSize, Epochs: 1})
	}, feed)
}
