package estimator

import (
	"testing"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/optim"
	"github.com/stoker-ml/stoker/functions/module"
)

// A result does not show how many threads there were.
func TestTheTrainingHasTheThreadsOfTheRunConfig(t *testing.T) {
	t.Parallel()
	p := plan{config: RunConfig{Threads: 3, Seed: new(int64)}}
	n := network{Model: &nn.Model{Graph: &nn.Graph{}}, optimizer: optim.NewSingle(&optim.SGD{})}
	if job := (runner{args: &module.Args{}}).training(Spec{}, p, n, nil); job.Options.Threads != 3 {
		t.Errorf("%d threads, expected 3", job.Options.Threads)
	}
}
