package estimator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"time"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/export"
	"github.com/stoker-ml/stoker/compute/train"
	"github.com/stoker-ml/stoker/functions/module"
)

// runner holds what a run needs.
type runner struct {
	args    *module.Args
	working string // folder of checkpoints and exports
	now     func() time.Time
	log     *slog.Logger
}

// run is the whole walk: schema, spec, network, training with evaluations and exports, publishing.
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
	p, err := spec.Estimator.plan()
	if err == nil {
		err = errors.Join(p.config.check(), p.checkWeight(spec))
	}
	if err != nil {
		return fmt.Errorf("estimator: %w", err)
	}
	n, err := p.build(spec.Train.Input.Features, p.config.seed(r.args))
	if err != nil {
		return fmt.Errorf("estimator: %w", err)
	}
	r.log.Info("model built", "label", spec.Train.Input.Label, "loss", n.Loss.Name(), "weights", len(n.Weights()),
		"optimizer", n.optimizer.Name())
	if n.classes, err = p.head.classNames(spec.Train.Input.Label, spec.transformGraph()); err != nil {
		return fmt.Errorf("estimator: %w", err)
	}
	if err := r.warmStart(p.config, n, spec.transformGraph()); err != nil {
		return err
	}
	e := r.exports(spec, p, n)
	result, err := r.train(ctx, spec, p, n, e)
	if err != nil {
		return err
	}
	return r.finish(e, n.classes, result)
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

// train is train_and_evaluate.
func (r runner) train(ctx context.Context, spec Spec, p plan, n network, e *exports) (result train.Result, err error) {
	if err := e.resume(); err != nil {
		return result, err
	}
	in, o := spec.Train.Input.training(p.config.seed(r.args), r.log), r.options(spec, p, n)
	if err := r.settings(spec, p, n, in, o); err != nil {
		return result, err
	}
	reader, err := example.Open(in)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	log := r.newRunLog(spec, p, n)
	defer func() { log.finish(result, err) }()
	log.follow(&o)
	o.Evaluations = train.Evaluations{
		Throttle: spec.Eval.throttle(),
		Open:     func() (train.CloseSource, error) { return r.open(spec.Eval.Input, p, n) },
		Done: func(ctx context.Context, all []train.Evaluation) error {
			log.evaluated(all)
			return e.after(ctx, completed(all))
		},
	}
	return train.Run(ctx, o, n.Model, train.FromExamples(reader, spec.Train.Input.feed(n, p)), nil)
}

// open gives data to evaluate on, from their beginning.
func (r runner) open(in Input, p plan, n network) (train.CloseSource, error) {
	reader, err := example.Open(in.evaluation(r.log))
	if err != nil {
		return nil, err
	}
	return rows{train.FromExamples(reader, in.feed(n, p)), reader}, nil
}

// predicted are the rows for which predictions are asked: the assignment's evaluation files, in their order.
func (r runner) predicted(spec Spec) Input {
	in := spec.Eval.Input
	in.Files, in.ShuffleBuffer, in.Epochs = r.args.EvalFiles, 1, 1
	return in
}

func (r runner) options(spec Spec, p plan, n network) train.Options {
	keep := p.config.KeepCheckpointMax
	if keep == 0 {
		keep = defaultKeepCheckpoints
	}
	return train.Options{
		Steps: steps(spec.Train.MaxSteps), EvalSteps: steps(spec.Eval.Steps), BatchSize: spec.Train.Input.BatchSize,
		Optimizer: n.optimizer, Threads: p.config.Threads,
		Checkpoints: train.Checkpoints{
			Dir: filepath.Join(r.working, "checkpoints"), Every: p.config.SaveCheckpointsSteps, Interval: p.config.every(),
			Keep: keep, Seed: p.config.seed(r.args),
		},
		Logger: r.log, Now: r.now, Checkpointed: r.args.Checkpointed,
		Report: func(p train.Progress) {
			r.args.Send(module.Message{
				Type: module.MessageProgress, Phase: string(p.Phase), Step: p.Step, Steps: p.Steps, Metrics: p.Metrics,
			})
		},
	}
}

// finish tells the metrics of the last evaluation, and publishes.
func (r runner) finish(e *exports, classes []string, result train.Result) error {
	metrics := complete(train.Evaluation{Step: result.Steps, Metrics: result.Metrics}).Metrics
	r.args.Result(metrics)
	if err := r.args.WriteMetrics(metrics); err != nil {
		return err
	}
	if result.Confusion != nil {
		if err := r.args.WriteConfusion(classes, result.Confusion.Counts); err != nil {
			return err
		}
	}
	return e.publish()
}

// complete adds what Estimators have among the metrics of an evaluation. Where rows have weights, the loss is divided by how many there are,
// and the average loss by their weights.
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
