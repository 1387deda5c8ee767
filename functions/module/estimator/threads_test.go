package estimator

import "testing"

// How many threads there were can't be seen in a result.
func TestTheTrainingHasTheThreadsOfTheRunConfig(t *testing.T) {
	t.Parallel()
	if o := (runner{}).options(Spec{}, plan{config: RunConfig{Threads: 3, Seed: new(int64)}}, network{}); o.Threads != 3 {
		t.Errorf("%d threads, expected 3", o.Threads)
	}
}
