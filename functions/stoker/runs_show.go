package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs/find"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
)

func newRunsShow(app *app) *cobra.Command {
	var pipelineName string
	var waits waitFlags
	cmd := &cobra.Command{
		Use:   "show RUN",
		Short: "Show one run: its facts, what it waits for, who works on it, what came of it, and how to go on",
		Args:  exactly(1, "a run"),
		Example: "  stoker runs show monday\n" +
			"  stoker runs show monday --wait --timeout 1h -q && ./serve.sh",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := waits.check(); err != nil {
				return err
			}
			return app.withBus(cmd.Context(), func(ctx context.Context, box events.Letterbox) error {
				key, err := app.findRun(ctx, box, pipelineName, args[0])
				if err != nil {
					return err
				}
				if !waits.wait {
					return app.showRun(ctx, box, key)
				}
				ended, err := app.awaitRun(ctx, box, key, waits.timeout)
				if err != nil {
					return exit.Interrupted(ctx, err, fmt.Sprintf("run %s goes on", key.Run))
				}
				if err := app.showRun(ctx, box, key); err != nil {
					return err
				}
				return app.endedWell(ctx, box, ended)
			})
		},
	}
	waits.add(cmd)
	cmd.Flags().StringVar(&pipelineName, "pipeline", "", "pipeline of the run, where several have one of that name; or name it PIPELINE@RUN")
	return cmd
}

// shownRun is what `stoker runs show` prints of a run.
type shownRun struct {
	find.Detail
	Next []string `json:"next,omitempty"` // commands that help

	asked time.Time
}

func (a *app) showRun(ctx context.Context, box events.Letterbox, key find.Key) error {
	detail, err := find.Of(ctx, box, key)
	if err != nil {
		return err
	}
	shown := shownRun{detail, a.nextSteps(detail), time.Now()}
	return a.print(shown, shown.table)
}

// findRun is the run that a user means by its name, and perhaps its pipeline's: as a flag, or as PIPELINE@RUN or PIPELINE/RUN.
// A run whose own name is like that is found first.
func (a *app) findRun(ctx context.Context, box events.Letterbox, pipeline, name string) (find.Key, error) {
	key, err := a.runNamed(ctx, box, pipeline, name)
	at := strings.IndexAny(name, "@/")
	if at < 0 || pipeline != "" || exit.Code(err) != exit.Missing || events.CheckName("pipeline", name[:at]) != nil {
		return key, err
	}
	if other, otherErr := a.runNamed(ctx, box, name[:at], name[at+1:]); otherErr == nil {
		return other, nil
	}
	return key, err
}

func (a *app) runNamed(ctx context.Context, box events.Letterbox, pipeline, run string) (find.Key, error) {
	key, err := find.Run(ctx, box, pipeline, run)
	if several, ok := errors.AsType[*find.Several](err); ok {
		return key, exit.Usage(fmt.Errorf("run %s is of several pipelines: %s; name one: --pipeline %s, or %[3]s@%[1]s",
			run, strings.Join(several.Pipelines, ", "), several.Pipelines[0]))
	}
	if errors.Is(err, events.ErrNotFound) {
		of := map[bool]string{true: " of pipeline " + pipeline}[pipeline != ""]
		return key, exit.NotFound(fmt.Errorf("no fact of run %s%s: `%s` lists them", run, of, a.command("runs")))
	}
	return key, err
}
