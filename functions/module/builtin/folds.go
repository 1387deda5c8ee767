package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/train"
	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/functions/module"
)

// foldTrial is a trial that is judged by folds of the rows of the train split; train.Folds divides
// them. The evaluation files are not read.
//
// For each fold it trains a model, with the same initial weights, and evaluates it on the rows of
// the fold. Weights and metrics are, bit for bit, those of a training whose train split has the
// rows that the fold trains on and whose eval split has the rows that it is judged by: also means,
// deviations and class weights are those of the former alone. Only the number of classes of the
// label is that of all rows.
//
// After each fold the trial reports the running means of the metrics, and the standard deviations
// between folds once there are two, with the number of folds done as the step. It ends after
// Trial.Epochs folds, or all. If it is to stop, it ends with the means of the folds that are done;
// one that it was working on does not count.
//
// The working directory holds the metrics of the folds that are done (foldsFile), and the
// checkpoints of the one in progress, in a directory of its own. A trial continues from what it
// finds there: from its own state of an earlier attempt, or from that of its parent, whose folds it
// does not repeat. It reports no steps up to Trial.From, which its parent has reported.
type foldTrial struct {
	runner
	name       string
	config     config
	data       *data
	assignment module.Assignment
	folds      train.Folds

	first, last int                  // it reports the steps after first, and ends with last
	done        []map[string]float64 // the metrics of each fold
	stopped     bool                 // it is to end with the folds that are done
	saved       time.Time            // when a checkpoint was last reported
}

// validateByFolds runs a trial that is judged by folds.
func (r runner) validateByFolds(ctx context.Context, name string, c config, d *data, a module.Assignment) error {
	folds, err := foldsOf(*a.Validation, d.survey.rows)
	if err != nil {
		return err
	}
	f := &foldTrial{runner: r, name: name, config: c, data: d, assignment: a, folds: folds, first: a.Trial.From, last: folds.Count, saved: time.Now()}
	if a.Trial.Epochs > 0 {
		f.last = min(a.Trial.Epochs, folds.Count)
	}
	if err := f.run(ctx); err != nil {
		if ctx.Err() != nil && len(f.done) > 0 && a.WorkingDir != "" {
			// Perhaps no fold was being trained, whose checkpoint would have been reported.
			f.reportWithin(module.Message{Type: module.MessageCheckpoint})
		}
		return err
	}
	r.report(module.Message{Type: module.MessageDone, Step: len(f.done), Metrics: f.result()})
	return nil
}

// foldsOf returns how a validation divides so many rows.
func foldsOf(v module.Validation, rows int64) (train.Folds, error) {
	folds := train.Folds{Count: v.Folds, Forward: v.Order == tune.Forward, Seed: v.Seed, Rows: rows}
	if err := (tune.Validation{Folds: v.Folds, Order: v.Order}).Check(); err != nil {
		return folds, fmt.Errorf("tuner.study.%w", err)
	}
	if err := folds.Check(); err != nil {
		return folds, fmt.Errorf("tuner.study.validation.folds: %w: the train splits: %w", example.ErrInput, err)
	}
	return folds, nil
}

// run trains and judges one fold after another.
func (f *foldTrial) run(ctx context.Context) error {
	if err := f.load(); err != nil {
		return err
	}
	for n := range f.done {
		f.reportStep(n + 1)
	}
	for fold := len(f.done); fold < f.last; fold++ {
		if f.stopped = f.stopped || f.assignment.Stopped(); f.stopped {
			return nil
		}
		metrics, err := f.fold(ctx, fold)
		if err != nil {
			return fmt.Errorf("fold %d of %d: %w", fold+1, f.folds.Count, err)
		}
		if f.stopped {
			return nil
		}
		f.done = append(f.done, metrics)
		if err := f.keep(); err != nil {
			return err
		}
		f.reportStep(len(f.done))
	}
	return nil
}

// fold trains the model of a fold, and returns its metrics on the fold's rows.
func (f *foldTrial) fold(ctx context.Context, fold int) (map[string]float64, error) {
	d, err := f.data.fold(ctx, f.config, f.assignment, f.folds, fold)
	if err != nil {
		return nil, err
	}
	a := f.assignment
	a.WorkingDir = f.dir(fold)
	n, t, err := f.build(f.name, f.config, d, a)
	if err != nil {
		return nil, err
	}
	rows, err := d.judging(ctx, f.config, n, a, f.folds, fold)
	if err != nil {
		return nil, err
	}
	t.Rows.Only = f.folds.Trains(fold)
	t.Report = f.reportWithin
	t.Options.Continue = func(_ context.Context, step int) (bool, error) {
		f.stopped = f.stopped || step%stopCheck == 0 && f.assignment.Stopped()
		return !f.stopped, nil
	}
	t.Eval, t.Settings = nil, nil
	t.Measure = func(ctx context.Context, _ int) (map[string]float64, error) {
		if f.stopped {
			return nil, nil
		}
		return evaluate(ctx, n, rows, 0)
	}
	result, err := t.Run(ctx)
	return result.Metrics, err
}

// dir returns the working directory of a fold; "" if there is none.
func (f *foldTrial) dir(fold int) string {
	if f.assignment.WorkingDir == "" {
		return ""
	}
	return filepath.Join(f.assignment.WorkingDir, "fold-"+strconv.Itoa(fold+1))
}

// result returns the metrics of the trial; nil if it has done no fold that its parent hasn't.
func (f *foldTrial) result() map[string]float64 {
	if len(f.done) <= f.first {
		return nil
	}
	return overFolds(f.done)
}

// reportStep reports the means over the first folds, unless the parent has.
func (f *foldTrial) reportStep(folds int) {
	if folds > f.first {
		f.report(module.Message{Type: module.MessageProgress, Phase: string(train.Training), Step: folds, Steps: f.last, Metrics: overFolds(f.done[:folds])})
	}
}

// reportWithin reports the progress of a fold's training: a step of the trial is a fold.
func (f *foldTrial) reportWithin(m module.Message) {
	m.Step, m.Steps, m.Metrics = len(f.done), f.last, nil
	if m.Type == module.MessageCheckpoint {
		m.Steps, f.saved = 0, time.Now()
	}
	f.report(m)
}

// overFolds returns the means of the metrics over folds, and for two folds or more the standard
// deviations of a fold's value:
//
//	m = (x_1 + ... + x_n) / n;  m_std = sqrt(((x_1 - m)² + ... + (x_n - m)²) / (n - 1))
//
// The number of rows, and their weight, are sums.
func overFolds(folds []map[string]float64) map[string]float64 {
	n := float64(len(folds))
	all := map[string]float64{}
	for name := range folds[0] {
		sum := 0.0
		for _, metrics := range folds {
			sum += metrics[name]
		}
		if name == "example_count" || name == "weighted_example_count" {
			all[name] = sum
			continue
		}
		mean, squares := sum/n, 0.0
		for _, metrics := range folds {
			squares += (metrics[name] - mean) * (metrics[name] - mean)
		}
		all[name] = mean
		if n > 1 {
			all[name+deviation] = math.Sqrt(squares / (n - 1))
		}
	}
	return all
}

// foldsFile holds the metrics of the folds that a trial has done.
const foldsFile = "folds.json"

// savedFolds is the content of foldsFile. The trial's ID distinguishes it from that of any other.
type savedFolds struct {
	Trial string               `json:"trial"`
	Folds []map[string]float64 `json:"folds"`
}

// load reads the folds that the trial, or its parent, has done. A state of another trial is not
// used: that only takes longer.
func (f *foldTrial) load() error {
	if f.assignment.WorkingDir == "" {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(f.assignment.WorkingDir, foldsFile))
	var before savedFolds
	if err == nil {
		err = json.Unmarshal(text, &before)
	}
	known := before.Trial == f.assignment.Trial.ID || before.Trial == f.assignment.Trial.Parent
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("folds of the trial's earlier attempt: %w", err)
	case known && len(before.Folds) <= f.last && !slices.ContainsFunc(before.Folds, func(m map[string]float64) bool { return len(m) == 0 }):
		f.done = before.Folds
	}
	return f.sweep()
}

// keep writes the folds that are done, and removes the checkpoints of the last one. It reports a
// checkpoint if one is due: a trial of few seconds has none.
func (f *foldTrial) keep() error {
	if f.assignment.WorkingDir == "" {
		return nil
	}
	text, err := json.Marshal(savedFolds{f.assignment.Trial.ID, f.done})
	if err == nil {
		err = os.MkdirAll(f.assignment.WorkingDir, 0o755)
	}
	path := filepath.Join(f.assignment.WorkingDir, foldsFile)
	if err == nil {
		err = os.WriteFile(path+".new", text, 0o644)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return fmt.Errorf("keep the folds that are done: %w", err)
	}
	if err := f.sweep(); err != nil {
		return err
	}
	if interval := f.config.interval(); f.config.CheckpointEvery > 0 || interval > 0 && time.Since(f.saved) >= interval {
		f.reportWithin(module.Message{Type: module.MessageCheckpoint})
	}
	return nil
}

// sweep removes the checkpoints of folds that are done.
func (f *foldTrial) sweep() error {
	for fold := range f.done {
		if err := os.RemoveAll(f.dir(fold)); err != nil {
			return fmt.Errorf("remove the checkpoints of a fold that is done: %w", err)
		}
	}
	return nil
}

// fold returns the data of a fold's training, and reads them at the first call.
func (d *data) fold(ctx context.Context, c config, a module.Assignment, folds train.Folds, fold int) (*data, error) {
	if known := d.folds[fold]; known != nil {
		return known, nil
	}
	s, err := d.survey.part(ctx, d.dataset, a.TrainFiles, folds.Trains(fold))
	if err != nil {
		return nil, err
	}
	if d.folds == nil {
		d.folds = map[int]*data{}
	}
	d.folds[fold] = &data{dataset: d.dataset, survey: s}
	return d.folds[fold], nil
}

// judging returns the rows by which a fold's model is judged, and reads them at the first call.
func (d *data) judging(ctx context.Context, c config, n network, a module.Assignment, folds train.Folds, fold int) (*heldRows, error) {
	if d.held != nil {
		return d.held, nil
	}
	rows := d.heldRows(n, maxHeldBytes/folds.Count, func() example.Options {
		return example.Options{Patterns: a.TrainFiles, BatchSize: c.EvalBatchSize, Epochs: 1, Only: folds.Judges(fold)}
	})
	if err := rows.read(ctx, 0); err != nil {
		return nil, err
	}
	d.held = rows
	return rows, nil
}
