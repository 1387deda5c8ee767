package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/export"
	"github.com/stoker-ml/stoker/compute/nn/autodiff"
	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
	"github.com/stoker-ml/stoker/compute/tf/warmstart"
	"github.com/stoker-ml/stoker/compute/train"
	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/modelcheck"
	"github.com/stoker-ml/stoker/functions/module/training"
)

// Digests returns the builtin modules by name, each with a constant in place of the digest of its
// code. The number increases whenever the same assignment may give another model, or metrics with
// other bits.
func Digests() map[string]string {
	digests := map[string]string{}
	for name, number := range map[string]string{"dnn": "8", "linear": "8", wideDeep: "6"} {
		digests[name] = module.BuiltinPrefix + name + "@" + number
	}
	return digests
}

// Names returns the names of the builtin modules, sorted.
func Names() []string { return slices.Sorted(maps.Keys(Digests())) }

func checkName(name string) error {
	if !slices.Contains(Names(), name) {
		return fmt.Errorf("no such module: expected one of %s", strings.Join(Names(), ", "))
	}
	return nil
}

// Module serves every builtin module; the assignment names one.
func Module() module.Module { return ModuleOn(nil) }

// ModuleOn is Module with every training on the devices of machines.
func ModuleOn(machines autodiff.Machines) module.Module {
	cache := &dataCache{}
	return module.Module{
		Train: func(ctx context.Context, a *module.Args) error {
			return run(ctx, nameOf(a.Assignment), a.Assignment, runner{report: a.Send, cache: cache, machines: machines})
		},
		Tune: func(ctx context.Context, a *module.Args) (tune.Config, error) {
			return study(ctx, nameOf(a.Assignment), a.Assignment)
		},
		Check: modelcheck.Serve,
	}
}

func nameOf(a module.Assignment) string {
	return strings.TrimPrefix(a.Module.Path, module.BuiltinPrefix)
}

// Run trains the builtin module of that name on an assignment. It calls report on the caller's
// goroutine, about 20 times a second at most, and last with "done". If ctx ends, it leaves a
// checkpoint below the working directory, and the error has context.Cause(ctx) in its chain. An
// error caused by the data is a module.Error of kind input. Run logs to standard error, which is
// the job's log.
func Run(ctx context.Context, name string, a module.Assignment, report func(module.Message)) error {
	return run(ctx, name, a, runner{report: report, cache: &dataCache{}})
}

func run(ctx context.Context, name string, a module.Assignment, r runner) error {
	r.log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	return training.BadInput(ctx, r.run(ctx, name, a))
}

// runner holds the inputs of a run besides its assignment.
type runner struct {
	log      *slog.Logger
	report   func(module.Message)
	cache    *dataCache
	machines autodiff.Machines // for training; nil: the CPU
}

// run reads the configuration and the data, builds the network, trains it, and exports the model.
func (r runner) run(ctx context.Context, name string, a module.Assignment) error {
	if err := checkName(name); err != nil {
		return err
	}
	c, err := newConfig(name, a, r.log)
	if err != nil {
		return err
	}
	d, err := r.cache.read(ctx, c, a)
	if err != nil {
		return err
	}
	if empty := d.survey.empty(d.dataset); len(empty) > 0 {
		r.log.Warn("no row of the train split has a value of a feature that the schema names: is a column missing, or named differently?",
			"features", strings.Join(empty, ", "))
	}
	if a.Trial != nil && a.Validation != nil {
		return r.validateByFolds(ctx, name, c, d, a)
	}
	n, t, err := r.build(name, c, d, a)
	if err != nil {
		return err
	}
	if a.Trial != nil {
		err = r.asTrial(ctx, t, c, d, n)
	} else {
		err = r.validated(ctx, t, c, d, n)
	}
	if err != nil {
		return err
	}
	result, err := t.Run(ctx)
	if err != nil {
		return err
	}
	if a.ServingModelDir != "" || a.Trial == nil {
		if err := writeModel(ctx, d.dataset, n, a, result); err != nil {
			return err
		}
	}
	r.report(module.Message{Type: module.MessageDone, Step: result.Steps, Metrics: result.Metrics})
	return nil
}

// build builds the network, with the weights of the base model if there is one, and the
// configuration of its training.
func (r runner) build(name string, c config, d *data, a module.Assignment) (network, *training.Training, error) {
	n, err := servedNetwork(c, d, a)
	if err != nil {
		return n, nil, err
	}
	r.log.Info("model built", "module", module.BuiltinPrefix+name, "label", d.label.Name, "loss", n.model.Loss.Name(),
		"features", len(d.inputs), "weights", len(n.model.Weights()), "train_rows", d.survey.rows)
	t, err := r.training(name, c, d, n, a)
	if err == nil && a.BaseModel != "" {
		err = t.WarmStart("base_model", a.BaseModel, d.graph, c.WarmStart)
	}
	return n, t, err
}

// servedNetwork returns a network that can be served, with the names of its classes if they are
// needed.
func servedNetwork(c config, d *data, a module.Assignment) (network, error) {
	n, err := newNetwork(c, d.dataset, d.survey)
	if err == nil {
		// Before a search trains models that can't be served.
		err = savedmodel.Writable(exported(d.dataset, n))
	}
	forMetrics := a.Trial != nil && a.ServingModelDir == "" && a.BaseModel == ""
	if label := n.feed.Label; err == nil && !forMetrics && label.Classes > 0 {
		n.classes, err = warmstart.ClassNames(max(label.Classes, 2), label.Vocabulary, label.Feature, d.graph)
	}
	return n, err
}

// logEvery is the number of steps between two reports of the loss.
const logEvery = 10

// training returns the configuration of the training of the network.
func (r runner) training(name string, c config, d *data, n network, a module.Assignment) (*training.Training, error) {
	optimizer, err := c.optimizerOf(n.model)
	if err != nil {
		return nil, err
	}
	t := &training.Training{
		Assignment: a, Dir: a.WorkingDir, Report: r.report, Logger: r.log, Now: time.Now,
		Model: n.model, Feed: n.feed, Classes: n.classes, Open: d.open,
		Rows: example.Options{
			Patterns: a.TrainFiles, BatchSize: c.BatchSize, Epochs: c.Epochs,
			ShuffleBuffer: training.ShuffleBuffer, Seed: uint64(c.Seed), Logger: r.log,
		},
		Options: train.Options{
			Steps: training.Steps(a.TrainSteps), EvalSteps: training.Steps(a.EvalSteps), BatchSize: c.BatchSize,
			Optimizer: optimizer, Threads: c.Threads, Machines: r.machines, LogEvery: logEvery,
			Checkpoints: train.Checkpoints{Every: c.CheckpointEvery, Interval: c.interval(), Keep: 2, Seed: c.Seed},
		},
		Log: training.Log{
			Off: a.Trial != nil && a.ServingModelDir == "", EpochRows: d.survey.rows, Histograms: c.Histograms, LearningRate: c.rateOf,
		},
	}
	if len(a.EvalFiles) > 0 {
		t.Eval = &example.Options{Patterns: a.EvalFiles, BatchSize: c.EvalBatchSize, Epochs: 1, Logger: r.log}
	}
	t.Log.Values, t.Log.Config = c.describe(name)
	t.Settings, err = c.effective(name, d.dataset, n)
	return t, err
}

// writeModel writes the metrics, then the model's files: the files for which the worker waits come
// last.
func writeModel(ctx context.Context, d dataset, n network, a module.Assignment, result train.Result) error {
	if err := training.WriteMetrics(a, n.classes, result); err != nil {
		return err
	}
	if err := predict(ctx, d, n, a); err != nil {
		return err
	}
	targets := export.Targets{Serving: a.ServingModelDir, Eval: a.EvalModelDir, Formats: a.Exports}
	return export.Write(ctx, targets, export.Model{Model: exported(d, n), Samples: d.samples(a.TrainFiles, n.feed)})
}

// exported returns the model for its files.
func exported(d dataset, n network) savedmodel.Model {
	m := savedmodel.Model{Graph: n.model.Graph, TransformGraph: d.graph, Labels: d.labelNames(), Classes: d.label.Vocabulary, ClassNames: n.classes}
	if !d.transformed {
		m.Spec, m.Defaults = d.spec, n.defaults
	}
	return m
}

// predict writes the predictions of the model in memory for evaluation rows, and the names of
// labels, if the assignment asks for them.
func predict(ctx context.Context, d dataset, n network, a module.Assignment) (err error) {
	p := a.Predictions
	if p == nil || len(a.EvalFiles) == 0 {
		return nil
	}
	rows, err := d.open(example.Options{Patterns: a.EvalFiles, BatchSize: min(p.Rows, surveyRows), Epochs: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if err := export.Predict(ctx, p.Path, n.model.Graph, train.FromExamples(rows, n.feed), p.Rows); err != nil {
		return err
	}
	if p.LabelsPath == "" {
		return nil
	}
	text, err := json.Marshal(d.labelNames())
	if err == nil {
		err = os.WriteFile(p.LabelsPath, text, 0o644)
	}
	if err != nil {
		return fmt.Errorf("write the names of labels: %w", err)
	}
	return nil
}
