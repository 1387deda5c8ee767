package training_test

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/transform"
	"github.com/stoker-ml/stoker/compute/train"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/training"
)

// A module builds its network and says how its rows are read. Training does the rest: it resumes
// from a checkpoint, writes the run log, reports, and evaluates.
func ExampleTraining() {
	fit := func(ctx context.Context, a module.Assignment, model *nn.Model, feed train.Feed,
		open func(example.Options) (transform.Reader, error), report func(module.Message)) error {
		t := &training.Training{
			Assignment: a, Dir: a.WorkingDir, Report: report, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)), Now: time.Now,
			Model: model, Feed: feed, Open: open,
			Rows:    example.Options{Patterns: a.TrainFiles, BatchSize: 20, ShuffleBuffer: training.ShuffleBuffer},
			Eval:    &example.Options{Patterns: a.EvalFiles, BatchSize: 20, Epochs: 1},
			Options: train.Options{Steps: training.Steps(a.TrainSteps), BatchSize: 20, LogEvery: 10},
		}
		result, err := t.Run(ctx)
		if err != nil {
			return training.BadInput(ctx, err)
		}
		// Here the module writes the model, from the weights that Run has left in it.
		if err := training.WriteMetrics(a, t.Classes, result); err != nil {
			return err
		}
		report(module.Message{Type: module.MessageDone, Step: result.Steps, Metrics: result.Metrics})
		return nil
	}
	_ = fit
}
