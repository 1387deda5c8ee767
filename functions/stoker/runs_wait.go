package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/runs/find"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
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
func (a *app) awaitRun(ctx context.Context, box events.Letterbox, key find.Key, timeout time.Duration) (ended runs.State, err error) {
	late := fmt.Errorf("run %s: it has not ended within %s; `stoker runs show %[1]s` says what it waits for", key.Run, timeout)
	err = exit.AtMost(ctx, timeout, late, func(ctx context.Context) error {
		now, err := find.Of(ctx, box, key)
		if err != nil || now.Over() {
			ended = now.Summary
			return err
		}
		fmt.Fprintf(a.notes(), "run %s %s\n", terminal.Line(key.Run), terminal.Line(now.What()))
		ended, err = find.End(ctx, box, key, now.Last())
		return err
	})
	return ended, err
}
