package estimator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/export"
	"github.com/stoker-ml/stoker/compute/tf/transform"
	"github.com/stoker-ml/stoker/compute/tf/warmstart"
	"github.com/stoker-ml/stoker/compute/train"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/training"
)

// Main is the main function of a program that is a module in the style of an Estimator. It does not
// return.
func Main(t Trainer) { module.Main(Module(t)) }

// Module returns the module of a Trainer.
func Module(t Trainer) module.Module {
	return module.Module{Train: func(ctx context.Context, args *module.Args) error { return Run(ctx, args, t, time.Now) }}
}

// Run trains, evaluates and exports the Spec of t, like tf.estimator.train_and_evaluate and TFX's
// Trainer. The clock determines when checkpoints by time and evaluations are due, and the names of
// exports. An error caused by the data is a module.Error of kind input.
func Run(ctx context.Context, args *module.Args, t Trainer, now func() time.Time) error {
	r := runner{args: args, now: now, log: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	err := withWorkingDir(args.WorkingDir, func(dir string) error {
		r.working = dir
		return r.run(ctx, t)
	})
	return training.BadInput(ctx, err)
}

// withWorkingDir calls do with dir, or with a temporary directory if dir is empty, as for a module
// that is started by hand.
func withWorkingDir(dir string, do func(dir string) error) (err error) {
	if dir == "" {
		if dir, err = os.MkdirTemp("", "estimator-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	return do(dir)
}

// runner holds the inputs of a run.
type runner struct {
	args    *module.Args
	working string // directory of checkpoints and exports
	now     func() time.Time
	log     *slog.Logger
}

// run reads the schema, calls the Trainer, builds the network, trains it with evaluations and
// exports, and publishes the exports.
func (r runner) run(ctx context.Context, t Trainer) error {
	schema, err := readSchema(r.args)
	if err != nil {
		return err
	}
	spec, err := t(r.args, schema)
	if err == nil {
		err = spec.check()
	}
	if err != nil {
		return fmt.Errorf("trainer: %w", err)
	}
	p, n, err := r.network(spec)
	if err != nil {
		return fmt.Errorf("estimator: %w", err)
	}
	r.log.Info("model built", "label", spec.Train.Input.Label, "loss", n.Loss.Name(), "weights", len(n.Weights()),
		"optimizer", n.optimizer.Name())
	e := r.exports(spec, p, n)
	job := r.training(spec, p, n, e)
	if err := r.warmStart(job, p.config, spec.transformGraph()); err != nil {
		return err
	}
	if err := e.resume(); err != nil {
		return err
	}
	result, err := job.Run(ctx)
	if err != nil {
		return err
	}
	result.Metrics = complete(train.Evaluation{Step: result.Steps, Metrics: result.Metrics}).Metrics
	r.args.Result(result.Metrics)
	if err := training.WriteMetrics(r.args.Assignment, n.classes, result); err != nil {
		return err
	}
	return e.publish()
}

// readSchema returns the schema of the raw examples: the assignment's, or the one in the transform
// graph.
func readSchema(args *module.Args) (*example.Schema, error) {
	switch {
	case args.SchemaPath != "":
		return example.ReadSchema(args.SchemaPath)
	case args.TransformGraphPath != "":
		return example.ReadSchema(filepath.Join(args.TransformGraphPath, "metadata", "schema.pbtxt"))
	}
	return nil, errors.New("an Estimator-style module needs the schema of the examples, and this training has none")
}

// network plans and builds the network of the spec's Estimator.
func (r runner) network(spec Spec) (plan, network, error) {
	p, err := spec.Estimator.plan()
	if err == nil {
		err = errors.Join(p.config.check(), p.checkWeight(spec))
	}
	if err != nil {
		return p, network{}, err
	}
	n, err := p.build(spec.Train.Input.Features, p.config.seed(r.args))
	if err == nil {
		n.classes, err = p.head.classNames(spec.Train.Input.Label, spec.transformGraph())
	}
	return p, n, err
}

// training returns the configuration of the training, like that of train_and_evaluate.
func (r runner) training(spec Spec, p plan, n network, e *exports) *training.Training {
	in, seed := spec.Train.Input, p.config.seed(r.args)
	return &training.Training{
		Assignment: r.args.Assignment, Dir: r.working, Report: r.args.Send, Logger: r.log, Now: r.now,
		Model: n.Model, Feed: in.feed(n, p), Classes: n.classes,
		Rows: in.training(seed, r.log),
		Open: func(o example.Options) (transform.Reader, error) { return example.Open(o) },
		Options: train.Options{
			Steps: training.Steps(spec.Train.MaxSteps), EvalSteps: training.Steps(spec.Eval.Steps), BatchSize: in.BatchSize,
			Optimizer: n.optimizer, Threads: p.config.Threads,
			Checkpoints: train.Checkpoints{
				Every: p.config.SaveCheckpointsSteps, Interval: p.config.every(), Keep: p.config.keep(), Seed: seed,
			},
			Evaluations: train.Evaluations{
				Throttle: spec.Eval.throttle(),
				Open:     func() (train.CloseSource, error) { return r.open(spec.Eval.Input, p, n) },
				Done: func(ctx context.Context, all []train.Evaluation) error {
					return e.after(ctx, completed(all))
				},
			},
		},
		Settings: r.settings(spec, p),
		Log: training.Log{Config: fmt.Sprintf("%T with %d linear and %d deep feature columns, hidden units %v, optimizer %s\n",
			spec.Estimator, len(p.linear), len(p.deep), p.hiddenUnits, n.optimizer.Name())},
	}
}

// settings returns the settings of a training. Package training adds the loop's own values.
func (r runner) settings(spec Spec, p plan) map[string]any {
	all := map[string]any{"estimator": fmt.Sprintf("%T", spec.Estimator), "eval_batch_size": spec.Eval.Input.BatchSize}
	if p.head.classes > 0 {
		all["n_classes"] = p.head.classes
	}
	if p.weight != "" {
		all["weight_column"] = p.weight
	}
	if len(p.deep) > 0 {
		maps.Copy(all, map[string]any{"dnn_hidden_units": p.hiddenUnits, "dnn_activation": p.deepActivation(), "dnn_dropout": p.dropout, "dnn_feature_columns": len(p.deep)})
	}
	if len(p.linear) > 0 {
		all["linear_feature_columns"] = len(p.linear)
	}
	if len(r.args.CustomConfig) > 0 {
		all["custom_config"] = r.args.CustomConfig
	}
	if values, _ := r.args.Hyperparameters["values"].(map[string]any); len(values) > 0 {
		all["hyperparameters"] = values
	}
	return all
}

// warmStart copies the weights of the model that the run config names, if any.
func (r runner) warmStart(t *training.Training, c RunConfig, transformGraph string) error {
	if c.WarmStartFrom != "" {
		return t.WarmStart("run config", c.WarmStartFrom, transformGraph, warmstart.Rules{})
	}
	if r.args.BaseModel != "" {
		r.log.Warn("base model not used: the run config has no WarmStartFrom",
			"base_model", r.args.BaseModel)
	}
	return nil
}

func (r runner) exports(spec Spec, p plan, n network) *exports {
	input := spec.Train.Input
	return &exports{
		dir: filepath.Join(r.working, "exports"), spec: spec, now: r.now, args: r.args,
		model: func(s ServingInput) export.Model {
			m := s.model(n)
			m.Classes, m.ClassNames = p.head.vocabulary, n.classes
			return export.Model{Model: m, Samples: export.FirstRows(input.Files, input.Features, input.feed(n, p))}
		},
		rows: func() (train.CloseSource, error) { return r.open(r.predicted(spec), p, n) },
	}
}

// open returns data to evaluate on, from the first row.
func (r runner) open(in Input, p plan, n network) (train.CloseSource, error) {
	reader, err := example.Open(in.evaluation(r.log))
	if err != nil {
		return nil, err
	}
	return training.Source(reader, in.feed(n, p)), nil
}

// predicted returns the rows to predict: the assignment's evaluation files, in their order.
func (r runner) predicted(spec Spec) Input {
	in := spec.Eval.Input
	in.Files, in.ShuffleBuffer, in.Epochs = r.args.EvalFiles, 1, 1
	return in
}

// complete adds Estimators' metrics to those of an evaluation. If rows have weights, the loss is
// divided by the number of rows, and the average loss by the sum of their weights.
func complete(e train.Evaluation) train.Evaluation {
	e.Metrics = maps.Clone(e.Metrics)
	e.Metrics["average_loss"], e.Metrics["global_step"] = e.Metrics["loss"], float64(e.Step)
	if weight, weighted := e.Metrics["weighted_example_count"]; weighted {
		e.Metrics["average_loss"] *= e.Metrics["example_count"] / weight
	}
	return e
}

func completed(all []train.Evaluation) []train.Evaluation {
	var out []train.Evaluation
	for _, e := range all {
		out = append(out, complete(e))
	}
	return out
}
