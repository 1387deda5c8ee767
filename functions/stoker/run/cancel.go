package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// cancelled is the result of cancel.
type cancelled struct {
	Pipeline string `json:"pipeline"`
	Run      string `json:"run"`
	Job      string `json:"job,omitempty"` // that is stopping; "": the run had none, and has ended
}

func newCancel(a *app.App) *cobra.Command {
	var pipelineName string
	var wait bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:               "cancel RUN",
		GroupID:           app.Act,
		Annotations:       app.Info{Role: access.Operator}.Annotations(),
		ValidArgsFunction: a.RunNames,
		Short:             "Cancel a run",
		Long: "Ends a waiting run, or asks the worker of its job to stop: the worker ends the module, removes the attempt's files and\n" +
			"publishes training.failed of kind cancelled. If the model is already committed, it publishes model.trained instead.",
		Example: "  stoker cancel monday\n" +
			"  stoker cancel penguin/monday --wait",
		Args: app.Named("a run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := app.CheckTimeout(wait, timeout); err != nil {
				return err
			}
			return a.WithBus(cmd.Context(), func(ctx context.Context, bus events.Bus) error {
				key, err := Find(ctx, a, bus, pipelineName, args[0])
				if err != nil {
					return err
				}
				done, err := cancelRun(ctx, a, bus, key)
				if err != nil || !wait || done.Job == "" {
					return err
				}
				return awaitEnd(ctx, a, bus, key, timeout)
			})
		},
	}
	a.AddPipelineFlag(cmd, &pipelineName, "pipeline of the run, where several have one of that name; or name it PIPELINE/RUN")
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until the run has an outcome")
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "how long --wait waits; default: forever")
	return cmd
}

func cancelRun(ctx context.Context, a *app.App, bus events.Bus, key runs.Key) (dispatch.Cancelled, error) {
	done, err := dispatch.Cancel(ctx, bus, key.Pipeline, key.Run)
	if errors.Is(err, dispatch.ErrTooLate) && isCancelled(ctx, bus, key) {
		return done, fmt.Errorf("run %s is already cancelled", key.Run)
	}
	if errors.Is(err, dispatch.ErrTooLate) {
		return done, fmt.Errorf("%w: the run has ended: `%s` shows how", err, a.Command("runs show "+app.Quoted(key.Pipeline+"/"+key.Run)))
	}
	if err != nil {
		return done, err
	}
	return done, a.Print(cancelled{key.Pipeline, key.Run, done.Job}, func(w io.Writer) {
		if done.Job == "" {
			fmt.Fprintf(w, "run %s of pipeline %s is cancelled\n", key.Run, key.Pipeline)
			return
		}
		fmt.Fprintf(w, "run %s of pipeline %s: its job is stopping\n", key.Run, key.Pipeline)
	})
}

// isCancelled reports whether the last outcome of a run in the log is that it was cancelled.
func isCancelled(ctx context.Context, bus events.Bus, key runs.Key) bool {
	run, err := runs.Load(ctx, bus, key)
	return err == nil && run.Last.State == runs.Cancelled
}

// awaitEnd waits until a run with a job has an outcome, and prints it. A cancelled run is no
// failure of the command that cancelled it.
func awaitEnd(ctx context.Context, a *app.App, bus events.Bus, key runs.Key, timeout time.Duration) error {
	var recorded events.Recorded
	late := fmt.Errorf("run %s: no outcome within %s; its job is still stopping", key.Run, timeout)
	err := exit.AtMost(ctx, timeout, late, func(ctx context.Context) (err error) {
		recorded, err = nextOutcome(ctx, bus, key)
		return err
	})
	if err != nil {
		return err
	}
	state := runs.Outcome(recorded)
	if err := a.Print(state, func(w io.Writer) { terminal.Row(w, state.Run, state.State, state.What()) }); err != nil {
		return err
	}
	if state.State != runs.Cancelled {
		return fmt.Errorf("run %s: cancelled too late: %s", key.Run, state.State)
	}
	return nil
}

// nextOutcome returns the first outcome of the run's last job, which may exist already.
func nextOutcome(ctx context.Context, bus events.Bus, key runs.Key) (events.Recorded, error) {
	join, err := runs.Open(bus, runs.Options{}).Join(ctx, key)
	if err != nil {
		return events.Recorded{}, err
	}
	query := events.Query{
		Kinds:    events.OutcomeKinds(),
		Pipeline: key.Pipeline, Run: key.Run, From: max(join.Stage(events.FunctionTrain).After, join.Completed()) + 1, Follow: true,
	}
	for recorded, err := range bus.Read(ctx, query) {
		if err != nil {
			return recorded, err
		}
		if recorded.Err == nil && events.EndsRun(recorded.Event) {
			return recorded, nil
		}
	}
	return events.Recorded{}, context.Cause(ctx)
}
