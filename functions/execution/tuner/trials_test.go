package tuner_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/execution/tuner"
	"github.com/stoker-ml/stoker/functions/worker"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

// A trial that kills every worker that takes it must not go from one worker to the next forever:
// its job is acknowledged, and the tune job, whose losses are counted, takes over the trial.
func TestATrialJobThatHasKilledItsWorkersIsLeft(t *testing.T) {
	t.Parallel()
	executor := execution.New(storagetest.NewMemory("stoker"), nil, execution.Options{Root: storage.Ref{Bucket: "stoker"}, WorkDir: t.TempDir()})
	trials := tuner.New(executor, bustest.NewMemory(0)).Trials()
	ended, end := context.WithCancel(t.Context())
	end() // the trial is reported as in progress
	for lost, leaves := range map[int]bool{0: false, 4: false, 5: true, 6: true} {
		task := worker.Task{
			Job:     events.Job{ID: "trial-job", Function: events.FunctionTrial, Class: "cpu", Pipeline: "penguin", Run: "r", Spec: []byte("no pipeline"), Study: "s"},
			Attempt: events.Attempt{ID: "a", Number: lost + 1, Lost: lost}, Prove: func() error { return errors.New("no lease") },
		}
		announced, err := trials.Handle(ended, task)
		if len(announced) > 0 || leaves != (err == nil) {
			t.Errorf("%d workers died: %v, %v; left: want %t", lost, announced, err, leaves)
		}
	}
}
