package builtin

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/export"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
	"github.com/stoker-ml/stoker/compute/train"
	"github.com/stoker-ml/stoker/functions/module"
)

// Run trains the builtin module of that name as the assignment says. report is called on the caller's goroutine, some 20
// times a second at most, and last with "done". When ctx ends, a checkpoint is left below the working folder and the error has
// context.Cause(ctx) in its chain. What the data is to blame for is a module.Error of kind input. It logs to standard
// error, which is the job's log.
func Run(ctx context.Context, name string, a module.Assignment, report func(module.Message)) error {
	return run(ctx, name, a, runner{report: report, kept: &kept{}})
}

// run is Run by a runner that lacks but a log and a clock.
func run(ctx context.Context, name string, a module.Assignment, r runner) error {
	r.log, r.now = slog.New(slog.NewTextHandler(os.Stderr, nil)), time.Now
	err := r.run(ctx, name, a)
	if errors.Is(err, example.ErrInput) && ctx.Err() == nil {
		return module.BadInput(err)
	}
	return err
}

// runner holds what a run needs of the world.
type runner struct {
	log      *slog.Logger
	report   func(module.Message)
	now      func() time.Time
	kept     *kept       // what trials keep for those after them
	machines nn.Machines // that train; nil: this computer's cores
}

// run is the whole walk: configuration, schema, survey, network, weights of a base model, training, export.
func (r runner) run(ctx context.Context, name string, a module.Assignment) error {
	if err := checkName(name); err != nil {
		return err
	}
	c, err := newConfig(name, a, r.log)
	if err != nil {
		return err
	}
	data, err := r.kept.look(ctx, c, a)
	if err != nil {
		return err
	}
	d, s := data.dataset, data.survey
	n, err := servedNetwork(c, d, s, a)
	if err != nil {
		return err
	}
	r.log.Info("model built", "module", module.BuiltinPrefix+name, "label", d.label.Name, "loss", n.model.Loss.Name(),
		"features", len(d.inputs), "weights", len(n.model.Weights()), "train_rows", s.rows)
	if err := r.warmStart(c, d, n, a); err != nil {
		return err
	}
	log := r.newRunLog(name, c, s, n, a)
	learn := r.train
	if a.Trial != nil {
		learn = r.try
	}
	result, err := learn(ctx, c, data, n, a, log)
	log.finish(result, err)
	if err != nil {
		return err
	}
	if a.ServingModelDir != "" || a.Trial == nil {
		if err := leave(ctx, d, n, a, result); err != nil {
			return err
		}
	}
	r.report(module.Message{Type: module.MessageDone, Step: result.Steps, Metrics: result.Metrics})
	return nil
}

// servedNetwork is a network that can be served, with the names of its classes where anybody will ask for them.
func servedNetwork(c config, d dataset, s *survey, a module.Assignment) (network, error) {
	n, err := newNetwork(c, d, s)
	if err == nil {
		err = savedmodel.Writable(exported(d, n)) // a search for what can't be served helps nobody
	}
	forMetrics := a.Trial != nil && a.ServingModelDir == "" && a.BaseModel == ""
	if err == nil && !forMetrics {
		n.classes, err = n.classNames(d.graph)
	}
	return n, err
}

// shuffleBuffer is that of TFX's DataAccessor.
const shuffleBuffer = 10000

func (r runner) train(ctx context.Context, c config, d *data, n network, a module.Assignment, log *runLog) (result train.Result, err error) {
	o, err := r.options(c, n, a)
	if err != nil {
		return result, err
	}
	in := r.examples(c, a)
	settings, err := c.effective(log.name, d.dataset, n, in, o)
	if err != nil {
		return result, err
	}
	r.report(module.Message{Type: module.MessageSettings, Settings: settings})
	data, err := d.open(in)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, data.Close()) }()
	log.follow(&o)
	if len(a.EvalFiles) == 0 {
		return train.Run(ctx, o, n.model, train.FromExamples(data, n.feed), nil)
	}
	eval, err := d.open(example.Options{
		Patterns: a.EvalFiles, BatchSize: c.EvalBatchSize, Epochs: 1, Logger: r.log,
	})
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, eval.Close()) }()
	return train.Run(ctx, o, n.model, train.FromExamples(data, n.feed), train.FromExamples(eval, n.feed))
}

// examples say what is learnt from, and in which order.
func (r runner) examples(c config, a module.Assignment) example.Options {
	return example.Options{
		Patterns: a.TrainFiles, BatchSize: c.BatchSize, Epochs: c.Epochs,
		ShuffleBuffer: shuffleBuffer, Seed: uint64(c.Seed), Logger: r.log,
	}
}

func (r runner) options(c config, n network, a module.Assignment) (train.Options, error) {
	optimizer, err := c.optimizerOf(n.model)
	if err != nil {
		return train.Options{}, err
	}
	p := &progress{report: r.report, now: r.now, trial: a.Trial != nil}
	o := train.Options{
		Steps: steps(a.TrainSteps), EvalSteps: steps(a.EvalSteps), BatchSize: c.BatchSize, Optimizer: optimizer, Threads: c.Threads, Machines: r.machines,
		LogEvery: 10, Logger: r.log, Now: r.now, Report: p.take, Checkpointed: p.checkpointed,
	}
	if a.WorkingDir != "" {
		dir := filepath.Join(a.WorkingDir, "checkpoints")
		o.Checkpoints = train.Checkpoints{Dir: dir, Every: c.CheckpointEvery, Interval: c.interval(), Keep: 2, Seed: c.Seed}
	}
	return o, nil
}

// leave writes metrics.json and confusion_matrix.json, then the model's files: what the worker waits for comes last.
func leave(ctx context.Context, d dataset, n network, a module.Assignment, result train.Result) error {
	if result.Metrics != nil {
		if err := a.WriteMetrics(result.Metrics); err != nil {
			return err
		}
	}
	if result.Confusion != nil {
		if err := a.WriteConfusion(n.classes, result.Confusion.Counts); err != nil {
			return err
		}
	}
	if err := predict(ctx, d, n, a); err != nil {
		return err
	}
	targets := export.Targets{Serving: a.ServingModelDir, Eval: a.EvalModelDir, Formats: a.Exports}
	return export.Write(ctx, targets, export.Model{Model: exported(d, n), Samples: d.samples(a.TrainFiles, n.feed)})
}

// exported is the model as its files have it.
func exported(d dataset, n network) savedmodel.Model {
	m := savedmodel.Model{Graph: n.model.Graph, TransformGraph: d.graph, Labels: d.labelNames(), Classes: d.label.Vocabulary, ClassNames: n.classes}
	if !d.transformed {
		m.Spec, m.Defaults = d.spec, n.defaults
	}
	return m
}
