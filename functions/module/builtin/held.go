package builtin

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"slices"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/train"
	"github.com/stoker-ml/stoker/functions/module"
)

// heldBytes bounds the evaluation rows that are kept in memory, about. More are read again each time.
const heldBytes = 64 << 20

// held are the evaluation rows as models take them: those of all trials of a study do.
type held struct {
	batches []nn.Batch // nil: too many to hold
	rows    int        // that an evaluation takes
	open    func() (train.CloseSource, error)
}

// evaluation is the data that a trial is measured on, read when it is first asked for.
func (d *data) evaluation(ctx context.Context, c config, n network, a module.Assignment, log *slog.Logger) (_ *held, err error) {
	if d.held != nil {
		return d.held, nil
	}
	h := &held{open: func() (train.CloseSource, error) {
		r, err := d.open(example.Options{Patterns: a.EvalFiles, BatchSize: c.EvalBatchSize, Epochs: 1, Logger: log})
		if err != nil {
			return nil, err
		}
		return closing{train.FromExamples(r, n.feed), r}, nil
	}}
	source, err := h.open()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	if err := h.read(ctx, source, steps(a.EvalSteps)); err != nil {
		return nil, err
	}
	d.held = h
	return h, nil
}

// closing is a source with what it reads from.
type closing struct {
	train.Source
	io.Closer
}

// read takes at most that many batches, 0 for all.
func (h *held) read(ctx context.Context, source train.Source, most int) error {
	bytes := 0
	for taken := 0; most == 0 || taken < most; taken++ {
		batch, err := source.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		h.rows += batch.Rows
		if bytes <= heldBytes {
			var size int
			batch, size = copied(batch)
			h.batches, bytes = append(h.batches, batch), bytes+size
		}
	}
	if bytes > heldBytes {
		h.batches = nil
	}
	return nil
}

// source gives the rows from their beginning.
func (h *held) source() (train.CloseSource, error) {
	if h.batches == nil {
		return h.open()
	}
	return &again{batches: h.batches}, nil
}

// again gives batches that are held.
type again struct{ batches []nn.Batch }

func (a *again) Next(context.Context) (nn.Batch, error) {
	if len(a.batches) == 0 {
		return nn.Batch{}, io.EOF
	}
	next := a.batches[0]
	a.batches = a.batches[1:]
	return next, nil
}

func (a *again) Close() error { return nil }

// copied is a batch that stays valid, and about how large it is.
func copied(b nn.Batch) (_ nn.Batch, size int) {
	b.Inputs, b.Targets, b.Weights = maps.Clone(b.Inputs), slices.Clone(b.Targets), slices.Clone(b.Weights)
	size = 4 * (len(b.Targets) + len(b.Weights))
	for name, v := range b.Inputs {
		v.Floats, v.Ints, v.Strings = slices.Clone(v.Floats), slices.Clone(v.Ints), slices.Clone(v.Strings)
		size += 4*len(v.Floats) + 8*len(v.Ints)
		for i, text := range v.Strings {
			v.Strings[i] = slices.Clone(text)
			size += 24 + len(text)
		}
		b.Inputs[name] = v
	}
	return b, size
}
