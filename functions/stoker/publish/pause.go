package publish

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/stoker/app"
)

// paused is the result of pause and resume.
type paused struct {
	Pipeline string `json:"pipeline"`
	Paused   bool   `json:"paused"`
	Waiting  int    `json:"waiting"` // runs that wait for admission
	Resumed  int    `json:"resumed"` // runs that waited before and no longer do
}

func newPause(a *app.App) *cobra.Command {
	return newGateCommand(a, dispatch.Pause, &cobra.Command{
		Use:         "pause PIPELINE",
		GroupID:     app.Act,
		Annotations: app.Info{Role: access.Operator}.Annotations(),
		Short:       "Pause a pipeline: hold its new runs",
		Example:     "  stoker pause penguin",
	})
}

func newResume(a *app.App) *cobra.Command {
	return newGateCommand(a, dispatch.Resume, &cobra.Command{
		Use:         "resume PIPELINE",
		GroupID:     app.Act,
		Annotations: app.Info{Role: access.Operator}.Annotations(),
		Short:       "Resume a paused pipeline",
		Example:     "  stoker resume penguin",
	})
}

// gateChange is dispatch.Pause or dispatch.Resume.
type gateChange func(ctx context.Context, bus events.Bus, pipeline string) error

// newGateCommand completes a command that changes a pipeline's gate.
func newGateCommand(a *app.App, change gateChange, cmd *cobra.Command) *cobra.Command {
	cmd.Args = app.Exactly(1, "a pipeline")
	cmd.ValidArgsFunction = a.PipelineNames
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.WithBus(cmd.Context(), func(ctx context.Context, bus events.Bus) error {
			now, err := changeGate(ctx, bus, args[0], change)
			if errors.Is(err, events.ErrNotFound) {
				return a.NoPipeline(ctx, bus, args[0])
			}
			if err != nil {
				return err
			}
			return a.Print(now, func(w io.Writer) { fmt.Fprintln(w, now) })
		})
	}
	return cmd
}

// changeGate also counts the waiting runs that continue.
func changeGate(ctx context.Context, bus events.Bus, name string, change gateChange) (paused, error) {
	before, err := runs.Open(bus, runs.Options{}).ReadAdmission(ctx, name)
	if err != nil {
		return paused{}, err
	}
	if err := change(ctx, bus, name); err != nil {
		return paused{}, err
	}
	// A new index: the one above keeps what it has read.
	after, err := runs.Open(bus, runs.Options{}).ReadAdmission(ctx, name)
	resumed := max(0, len(before.Waiting)-len(after.Waiting))
	return paused{name, after.Paused, len(after.Waiting), resumed}, err
}

func (p paused) String() string {
	switch {
	case p.Paused:
		return fmt.Sprintf("pipeline %s is paused, %s", p.Pipeline, ofRuns(p.Waiting, "waits", "wait"))
	case p.Resumed == 0 && p.Waiting == 0:
		return fmt.Sprintf("pipeline %s is resumed, no run was held", p.Pipeline)
	case p.Resumed == 0:
		return fmt.Sprintf("pipeline %s is resumed: %s until a slot is free", p.Pipeline, ofRuns(p.Waiting, "that was held waits", "that were held wait"))
	}
	line := fmt.Sprintf("pipeline %s is resumed: %s", p.Pipeline, ofRuns(p.Resumed, "that was held continues", "that were held continue"))
	if p.Waiting > 0 {
		line += ", " + ofRuns(p.Waiting, "waits", "wait")
	}
	return line
}

// ofRuns returns the text for n runs.
func ofRuns(n int, one, several string) string {
	switch n {
	case 0:
		return "no run " + one
	case 1:
		return "1 run " + one
	}
	return fmt.Sprintf("%d runs %s", n, several)
}
