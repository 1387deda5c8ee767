package trainer_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/execution/trainer"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/worker"
	"github.com/stoker-ml/stoker/storage"
)

// boundRunner records the limits that it was given, and trains nothing.
type boundRunner struct {
	execution.Runner
	limits chan runner.Limits
}

func (g boundRunner) Run(_ context.Context, _ module.Assignment, limits runner.Limits, _ func(module.Message)) (runner.Outcome, error) {
	g.limits <- limits
	return runner.Outcome{}, errors.New("trains nothing")
}

func TestAModuleHasTheGraceTimeOfItsTrainer(t *testing.T) {
	t.Parallel()
	b := setup(t, writesModel)
	bound := boundRunner{b.runner, make(chan runner.Limits, 1)}
	train := trainer.New(execution.New(b.store, bound, execution.Options{
		Root: storage.Ref{Bucket: "stoker"}, WorkDir: t.TempDir(), Grace: 15 * time.Second,
	}), trainer.Options{})
	task := worker.Task{
		Job: job(t, "job-1", "run-1", spec), Attempt: events.Attempt{ID: "attempt-1", Number: 1},
		Report: func(events.Progress) {}, Prove: func() error { return nil },
	}
	if _, err := train.Handle(t.Context(), task); err == nil {
		t.Error("a module that trains nothing made a model")
	}
	if got := <-bound.limits; got.Grace != 15*time.Second {
		t.Errorf("the module has %s to leave", got.Grace)
	}
}
