package builtin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/export"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/transform"
	"github.com/stoker-ml/stoker/compute/train"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/training"
)

// data is the result of reading a job's data once.
type data struct {
	dataset
	survey *survey

	held  *heldRows     // evaluation rows of a trial; nil: not read yet
	folds map[int]*data // of a trial that is judged by folds, those that it has come to
}

func newData(ctx context.Context, c config, a module.Assignment) (*data, error) {
	d, err := newDataset(c, a)
	if err != nil {
		return nil, err
	}
	s, err := newSurvey(ctx, d, a.TrainFiles, c.ClassWeights == balanced)
	if err != nil {
		return nil, err
	}
	return &data{dataset: d, survey: s}, nil
}

// dataCache holds the data of the last study, for a process that runs several of its trials. It is
// safe for concurrent use.
type dataCache struct {
	mu   sync.Mutex
	key  string
	data *data
}

// read returns the data of an assignment, from the cache if it is a trial of the same study and
// data.
func (k *dataCache) read(ctx context.Context, c config, a module.Assignment) (*data, error) {
	if a.Trial == nil || a.Trial.Study == "" {
		return newData(ctx, c, a)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	key, err := keyOf(c, a)
	if err != nil {
		return nil, err
	}
	if k.data != nil && k.key == key {
		return k.data, nil
	}
	k.key, k.data = "", nil // the cache holds one study
	d, err := newData(ctx, c, a)
	if err == nil {
		k.key, k.data = key, d
	}
	return d, err
}

// keyOf returns equal keys for two trials only if they read the same data. A study is known by a
// digest of its inputs; sizes and times show that the files are still the same.
func keyOf(c config, a module.Assignment) (string, error) {
	var key strings.Builder
	fmt.Fprintf(&key, "%s %q %q %d %d %d %s %t %q %q", a.Trial.Study, c.Label, c.Task, c.NumClasses, c.EvalBatchSize, training.Steps(a.EvalSteps),
		a.PayloadFormat, a.Transformed, a.SchemaPath, a.TransformGraphPath)
	fmt.Fprintf(&key, " %q %q %q %v", c.Features, c.ExcludeFeatures, c.WeightColumn, c.ClassWeights == balanced)
	if v := a.Validation; v != nil {
		fmt.Fprintf(&key, " %d %q %d", v.Folds, v.Order, v.Seed)
	}
	files, err := example.Files(slices.Concat(a.TrainFiles, a.EvalFiles)...)
	if err != nil {
		return "", err
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&key, " %q %d %d", file, info.Size(), info.ModTime().UnixNano())
	}
	return key.String(), nil
}

// transform makes raw examples pass through the transform graph as they are read. The result is
// what Transform would have written, so training on them gives the same model as on transformed
// examples.
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

// open returns a reader of examples in the form that the model takes; o.Spec is ignored.
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

// samples returns the first rows in the form that the model takes.
func (d dataset) samples(patterns []string, feed train.Feed) func(context.Context) (map[string]nn.Value, error) {
	return export.FirstRowsOf(func(batchSize int) (export.Rows, error) {
		return d.open(example.Options{Patterns: patterns, BatchSize: batchSize, Epochs: 1})
	}, feed)
}

// maxHeldBytes is the approximate limit of the evaluation rows that are kept in memory. Larger ones
// are read each time.
const maxHeldBytes = 64 << 20

// heldRows are evaluation rows in the form that models take, the same for all trials of a study.
type heldRows struct {
	batches []nn.Batch // nil: too many to hold
	rows    int        // in one evaluation
	most    int        // approximate limit of bytes to hold
	open    func() (train.CloseSource, error)
}

// evaluation returns the rows that a trial is evaluated on, and reads them at the first call.
func (d *data) evaluation(ctx context.Context, c config, n network, a module.Assignment, log *slog.Logger) (*heldRows, error) {
	if d.held != nil {
		return d.held, nil
	}
	h := d.evaluationRows(c, n, a, log)
	if err := h.read(ctx, training.Steps(a.EvalSteps)); err != nil {
		return nil, err
	}
	d.held = h
	return h, nil
}

// evaluationRows returns the evaluation rows, of which none is read yet.
func (d *data) evaluationRows(c config, n network, a module.Assignment, log *slog.Logger) *heldRows {
	return d.heldRows(n, maxHeldBytes, func() example.Options {
		return example.Options{Patterns: a.EvalFiles, BatchSize: c.EvalBatchSize, Epochs: 1, Logger: log}
	})
}

// heldRows returns rows to be held, of which none is read yet. They are read with new options each
// time.
func (d *data) heldRows(n network, mostBytes int, options func() example.Options) *heldRows {
	return &heldRows{most: mostBytes, open: func() (train.CloseSource, error) {
		r, err := d.open(options())
		if err != nil {
			return nil, err
		}
		return training.Source(r, n.feed), nil
	}}
}

// read reads at most that many batches, 0 for all.
func (h *heldRows) read(ctx context.Context, most int) (err error) {
	source, err := h.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
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
		if bytes <= h.most {
			var size int
			batch, size = copied(batch)
			h.batches, bytes = append(h.batches, batch), bytes+size
		}
	}
	if bytes > h.most {
		h.batches = nil
	}
	return nil
}

// source returns the rows from the first one.
func (h *heldRows) source() (train.CloseSource, error) {
	if h.batches == nil {
		return h.open()
	}
	return &heldSource{batches: h.batches}, nil
}

// heldSource returns batches that are held.
type heldSource struct{ batches []nn.Batch }

func (s *heldSource) Next(context.Context) (nn.Batch, error) {
	if len(s.batches) == 0 {
		return nn.Batch{}, io.EOF
	}
	next := s.batches[0]
	s.batches = s.batches[1:]
	return next, nil
}

func (s *heldSource) Close() error { return nil }

// copied returns a batch that stays valid, and its approximate size in bytes.
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
