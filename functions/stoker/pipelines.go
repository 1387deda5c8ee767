package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/spelling"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

func newPipelines(app *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pipelines",
		Short: "List, show and remove pipelines",
		Args:  noArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return app.listPipelines(cmd.Context()) },
	}
	list := &cobra.Command{
		Use:   "list",
		Short: "List the pipelines that are applied",
		Args:  noArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return app.listPipelines(cmd.Context()) },
	}
	cmd.AddCommand(list, newPipelinesShow(app), newPipelinesRemove(app))
	return cmd
}

// listedPipeline is a line of `stoker pipelines list`.
type listedPipeline struct {
	Pipeline string    `json:"pipeline"`
	Revision uint64    `json:"revision"`
	Applied  time.Time `json:"applied"`
	Module   string    `json:"module,omitempty"`
	WaitFor  []string  `json:"wait_for,omitempty"`
	Tuned    bool      `json:"tuned"`
	Error    string    `json:"error,omitempty"` // why this Stoker can't read it
}

func (a *app) listPipelines(ctx context.Context) error {
	return a.withBus(ctx, func(ctx context.Context, box events.Letterbox) error {
		pipelines, err := box.Register(ctx, events.RegisterPipelines)
		if err != nil {
			return err
		}
		all := []listedPipeline{}
		for entry, err := range pipelines.All(ctx) {
			if err != nil {
				return err
			}
			line := listedPipeline{Pipeline: entry.Key, Revision: entry.Revision, Applied: entry.Written}
			if spec, err := pipeline.FromJSON(entry.Value); err != nil {
				line.Error = err.Error()
			} else {
				line.Module, line.WaitFor, line.Tuned = spec.Module.Path, spec.Trainer.WaitFor, spec.Tunes()
			}
			all = append(all, line)
		}
		slices.SortFunc(all, func(a, b listedPipeline) int { return strings.Compare(a.Pipeline, b.Pipeline) })
		return a.print(all, func(w io.Writer) { pipelinesTable(w, all) })
	})
}

func pipelinesTable(w io.Writer, all []listedPipeline) {
	terminal.Row(w, "PIPELINE", "REVISION", "APPLIED", "WAITS FOR", "TUNED", "MODULE")
	for _, p := range all {
		what := p.Module
		if p.Error != "" {
			what = "can't be read: " + runs.FirstLine(p.Error)
		}
		terminal.Row(w, p.Pipeline, p.Revision, terminal.Time(p.Applied), strings.Join(p.WaitFor, ", "), map[bool]string{true: "yes", false: "no"}[p.Tuned], what)
	}
}

func newPipelinesRemove(app *app) *cobra.Command {
	var cancel bool
	cmd := &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a pipeline; its models and runs stay",
		Long: "Removes a pipeline. From then on `stoker publish` refuses its events, and what others publish becomes a dead letter. While runs of it\n" +
			"have not ended it stays, unless --cancel-runs cancels them: one that a worker has ends when the worker says so. Models, events,\n" +
			"studies and older revisions stay; `stoker apply` brings the pipeline back.",
		Args: exactly(1, "a pipeline"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return app.withBus(cmd.Context(), func(ctx context.Context, box events.Letterbox) error {
				return app.removePipeline(ctx, box, args[0], cancel)
			})
		},
	}
	cmd.Flags().BoolVar(&cancel, "cancel-runs", false, "cancel the runs that have not ended, and remove it")
	return cmd
}

// removedPipeline is what remove reports.
type removedPipeline struct {
	Pipeline  string   `json:"pipeline"`
	Revision  uint64   `json:"revision"` // that was applied
	Cancelled []string `json:"cancelled,omitempty"`
}

func (a *app) removePipeline(ctx context.Context, box events.Letterbox, name string, cancel bool) error {
	revision, cancelled, err := dispatch.Remove(ctx, box, name, cancel)
	if active, ok := errors.AsType[*dispatch.ActiveRuns](err); ok {
		shown := active.Runs[:min(len(active.Runs), 5)]
		return fmt.Errorf("pipeline %s has %d runs that have not ended (%s): `%s` lists them; wait for them, or cancel them with --cancel-runs",
			name, len(active.Runs), strings.Join(shown, ", "), a.command("runs --pipeline "+name))
	}
	if errors.Is(err, events.ErrNotFound) {
		return a.noPipeline(ctx, box, name)
	}
	if errors.Is(err, events.ErrConflict) {
		return fmt.Errorf("%w: pipeline %s was applied anew meanwhile; the same command removes that", err, name)
	}
	if err != nil {
		return err
	}
	return a.print(removedPipeline{name, revision, cancelled}, func(w io.Writer) {
		for _, run := range cancelled {
			fmt.Fprintf(w, "run %s is cancelled\n", run)
		}
		fmt.Fprintf(w, "pipeline %s is removed; it was at revision %d\n", name, revision)
	})
}

// noPipeline is the error for a pipeline that is not applied, with the one that may be meant.
func (a *app) noPipeline(ctx context.Context, box events.Letterbox, name string) error {
	var known []string
	if pipelines, err := box.Register(ctx, events.RegisterPipelines); err == nil {
		for entry, err := range pipelines.All(ctx) {
			if err != nil {
				break
			}
			known = append(known, entry.Key)
		}
	}
	return exit.NotFound(fmt.Errorf("no pipeline %s is applied%s; `%s` lists them", name, spelling.Suggestion(name, known), a.command("pipelines list")))
}
