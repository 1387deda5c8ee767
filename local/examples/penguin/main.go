// Command penguin is a module of your own: it learns to classify three species of penguins by what
// tf.Transform made of four measurements, with a network that no builtin module has. Copy it and
// change network.
//
// main is all that makes a program a module; read train next. Everything else is compute's: how
// data is read, how networks are put together, how models are written.
package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/export"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/optim"
	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
	"github.com/stoker-ml/stoker/compute/train"
	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/functions/module"
)

func main() { module.Main(module.Module{Train: trainPenguins, Tune: tunePenguins}) }

const (
	label   = "species_xf"
	species = 3
)

// config has the settings that a pipeline may set in custom_config, and a search may vary.
type config struct {
	Units        int     `json:"units"`
	BatchSize    int     `json:"batch_size"`
	LearningRate float64 `json:"learning_rate"`
}

// tunePenguins returns what a search varies, and its objective. tuner.study in the pipeline goes
// before.
func tunePenguins(_ context.Context, a *module.Args) (tune.Config, error) {
	return tune.Config{
		Space: space.Space{
			{Name: "units", Kind: space.Int, Min: 4, Max: 64, Step: 4, Sampling: space.Linear, Default: int64(8)},
			{Name: "learning_rate", Kind: space.Float, Min: 1e-3, Max: 1e-1, Sampling: space.Log, Default: 0.01},
		},
		Objectives: []tune.Objective{{Name: "accuracy", Direction: tune.Max}},
		Algorithm:  tune.Algorithm{Name: tune.Bayesian},
		MaxTrials:  12, Defaults: true, Seed: a.Seed,
	}, nil
}

// trainPenguins is called once for each training, and for each trial of a search, which wants its
// metrics and no model. When it returns without an error, the model in a.ServingModelDir is checked
// and published, with an event. train.Run leaves checkpoints in a.WorkingDir, one more when ctx
// ends, and continues from the newest; the worker keeps them, so that another one continues where
// this one had to stop, and a trial where its parent ended.
func trainPenguins(ctx context.Context, a *module.Args) error {
	c := config{Units: 8, BatchSize: 20, LearningRate: 0.01}
	if err := errors.Join(a.Config(&c), a.Tuned(&c)); err != nil {
		return err
	}
	spec, err := readSpec(a)
	if err != nil {
		return err
	}
	model, err := network(c, spec, a.Seed)
	if err != nil {
		return err
	}
	result, err := learner{c, spec, model}.fit(ctx, a)
	if err != nil {
		return err
	}
	a.Result(result.Metrics)
	if a.ServingModelDir == "" {
		return nil
	}
	targets := export.Targets{Serving: a.ServingModelDir, Eval: a.EvalModelDir, Formats: a.Exports}
	saved := savedmodel.Model{Graph: model.Graph, TransformGraph: a.TransformGraphPath, Labels: []string{"species"}}
	return export.Write(ctx, targets, export.Model{Model: saved, Samples: export.FirstRows(a.TrainFiles, spec, feed(model))})
}

// readSpec is about the features of the transformed examples. a.SchemaPath is the schema of the raw
// ones.
func readSpec(a *module.Args) (example.Spec, error) {
	if !a.Transformed || a.TransformGraphPath == "" {
		return nil, fmt.Errorf("penguin learns from transformed examples: it needs them with their transform graph (stoker try: --transform-graph)")
	}
	schema, err := example.ReadSchema(filepath.Join(a.TransformGraphPath, "transformed_metadata", "schema.pbtxt"))
	if err != nil {
		return nil, err
	}
	return schema.Spec()
}

// network adds a straight way to a hidden layer: logits = W2 relu(W1 x) + W3 x.
func network(c config, spec example.Spec, seed int64) (*nn.Model, error) {
	b := nn.NewBuilder(nn.NewRand(seed))
	var features []nn.Ref
	for _, f := range spec {
		if f.Name != label {
			features = append(features, b.Input(f.Name, nn.Float32, f.Size()))
		}
	}
	x := b.Concat("features", features...)
	deep := b.Dense("deep", b.Dense("hidden", x, c.Units, nn.OpRelu), species, "")
	logits := b.Add("logits", deep, b.Dense("straight", x, species, ""))
	loss := nn.SoftmaxCrossEntropy{}
	b.Output("probabilities", loss.Predict(b, "probabilities", logits))
	graph, err := b.Graph()
	if err != nil {
		return nil, err
	}
	return nn.NewModel(graph, "logits", loss)
}

// learner is a network and what it learns from.
type learner struct {
	config
	spec  example.Spec
	model *nn.Model
}

// fit runs a.TrainSteps batches of the training data through the model and measures it on the
// evaluation data.
func (l learner) fit(ctx context.Context, a *module.Args) (result train.Result, err error) {
	options, err := l.options(a)
	if err != nil {
		return result, err
	}
	data, err := example.Open(example.Options{
		Patterns: a.TrainFiles, Spec: l.spec, BatchSize: l.BatchSize, ShuffleBuffer: 10000, Seed: uint64(a.Seed),
	})
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, data.Close()) }()
	eval, err := example.Open(example.Options{Patterns: a.EvalFiles, Spec: l.spec, BatchSize: l.BatchSize, Epochs: 1})
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, eval.Close()) }()
	return train.Run(ctx, options, l.model, train.FromExamples(data, feed(l.model)), train.FromExamples(eval, feed(l.model)))
}

// feed returns the features that the model takes, and the label.
func feed(m *nn.Model) train.Feed {
	return train.Feed{Inputs: m.Graph.Inputs, Label: train.Label{Feature: label, Classes: species}}
}

func (l learner) options(a *module.Args) (train.Options, error) {
	if a.TrainSteps == nil {
		return train.Options{}, fmt.Errorf("train_args: num_steps: missing, expected how many batches of %d to learn from", l.BatchSize)
	}
	optimizer, err := optim.New("adam", l.LearningRate)
	if err != nil {
		return train.Options{}, err
	}
	options := train.Options{
		Steps: *a.TrainSteps, BatchSize: l.BatchSize, Optimizer: optimizer,
		Checkpoints: train.Checkpoints{
			Dir: filepath.Join(a.WorkingDir, "checkpoints"), Interval: 30 * time.Second, Seed: a.Seed,
			Last: a.Trial != nil && a.Trial.Keep,
		},
		LogEvery:     10,
		Checkpointed: a.Checkpointed,
		Continue:     func(_ context.Context, step int) (bool, error) { return step%10 != 0 || !a.Stopped(), nil },
		Report: func(p train.Progress) {
			a.Send(module.Message{Type: module.MessageProgress, Phase: string(p.Phase), Step: p.Step, Steps: p.Steps, Metrics: p.Metrics})
		},
	}
	if a.EvalSteps != nil {
		options.EvalSteps = *a.EvalSteps
	}
	return options, nil
}
