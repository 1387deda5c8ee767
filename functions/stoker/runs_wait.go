package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
)

// waitFlags are those of commands that may stay until a run has ended.
type waitFlags struct {
	wait    bool
	timeout time.Duration
}

func (f *waitFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.wait, "wait", false, "wait until the run has ended; exit status 1 unless it has a model")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, "how long --wait waits, then exit status 124; default: for ever")
}

func (f *waitFlags) check() error { return checkTimeout(f.wait, f.timeout) }

// checkTimeout refuses a --timeout of nothing, or of no wait.
func checkTimeout(wait bool, timeout time.Duration) error {
	switch {
	case timeout < 0:
		return exit.Usage(fmt.Errorf("--timeout %s: expected more than 0s", timeout))
	case timeout > 0 && !wait:
		return exit.Usage(errors.New("--timeout goes with --wait"))
	}
	return nil
}

// awaitRun waits until a run has ended, and says how. The log tells of that before everything else does.
func (a *app) awaitRun(ctx context.Context, box events.Letterbox, key runKey, timeout time.Duration) (ended runs.State, err error) {
	late := fmt.Errorf("run %s: it has not ended within %s; `stoker runs show %[1]s` says what it waits for", key.run, timeout)
	err = exit.AtMost(ctx, timeout, late, func(ctx context.Context) error {
		now, err := showRun(ctx, box, key)
		if err != nil || now.Over() {
			ended = now.runState
			return err
		}
		fmt.Fprintf(a.notes(), "run %s %s\n", key.run, now.What())
		ended, err = nextEnd(ctx, box, key, now.last())
		return err
	})
	return ended, err
}

// last is the sequence of the newest of a run's facts that were read.
func (d runDetail) last() uint64 {
	if len(d.Facts) == 0 {
		return 0
	}
	return d.Facts[len(d.Facts)-1].Sequence
}

// nextEnd waits for the first fact behind a sequence that tells of a run's end.
func nextEnd(ctx context.Context, box events.Letterbox, key runKey, behind uint64) (runs.State, error) {
	query := events.Query{Kinds: events.OutcomeKinds(), Pipeline: key.pipeline, Run: key.run, From: behind + 1, Follow: true}
	for recorded, err := range box.Read(ctx, query) {
		if err != nil {
			return runs.State{}, err
		}
		if recorded.Err == nil && events.EndsRun(recorded.Fact) {
			return runs.Outcome(recorded), nil
		}
	}
	return runs.State{}, context.Cause(ctx)
}

// endedWell is nil for a run that has a model.
func endedWell(ended runs.State) error {
	switch ended.State {
	case runs.Trained:
		return nil
	case runs.Cancelled:
		return fmt.Errorf("run %s was cancelled", ended.Run)
	}
	return fmt.Errorf("run %s %s: %s", ended.Run, ended.State, ended.What())
}
