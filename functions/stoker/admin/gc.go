package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/functions/admin/gc"
	"github.com/stoker-ml/stoker/functions/runs/query"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
	"github.com/stoker-ml/stoker/storage"
)

// collected is one line of `stoker gc`.
type collected struct {
	What      string      `json:"what"` // attempt, checkpoints or model
	Component storage.Ref `json:"component"`
	Execution string      `json:"execution"`
	Attempt   string      `json:"attempt,omitempty"`
	Why       string      `json:"why"`
	Objects   int         `json:"objects"`
	Bytes     int64       `json:"bytes"`
}

// garbage is the result of gc.
type garbage struct {
	DryRun  bool        `json:"dry_run"`
	Removed []collected `json:"removed"`
	Objects int         `json:"objects"`
	Bytes   int64       `json:"bytes"`
}

func (g *garbage) add(r gc.Removal) {
	g.Removed = append(g.Removed, collected{r.What, r.Component, r.Execution, r.Attempt, r.Why, r.Objects, r.Bytes})
	g.Objects, g.Bytes = g.Objects+r.Objects, g.Bytes+r.Bytes
}

func newGC(a *app.App) *cobra.Command {
	var opts gc.Options
	cmd := &cobra.Command{
		Use:     "gc",
		GroupID: app.Operate,
		Annotations: app.Info{Role: access.Operator, Output: app.Object, With: "--dry-run",
			Always: "dry_run removed objects bytes",
		}.Annotations(),
		Short: "Remove uncommitted attempts and old checkpoints",
		Long: "Removes objects from the store that are no longer needed: those of attempts without a commit, with their logs, and\n" +
			"old checkpoints. It keeps events, inputs and everything that is younger than --older-than by the store's clock,\n" +
			"belongs to a running attempt, or is needed by a job on the queue or by a run that has not ended.\n\n" +
			"--keep-models N also removes models: all except the newest N of each pipeline, their base models, and models that a\n" +
			"pipeline or a waiting run names. `stoker replay` trains removed models again.",
		Example: "  stoker gc --dry-run\n" +
			"  stoker gc --older-than 7d --keep-models 5",
		Args: app.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("keep-models") && opts.KeepModels < 1 {
				return exit.Usage(fmt.Errorf("--keep-models %d: expected 1 or more", opts.KeepModels))
			}
			return a.WithLink(cmd.Context(), func(ctx context.Context, l app.Link) error { return collect(ctx, a, l, opts) })
		},
	}
	cmd.Flags().BoolVar(&opts.DryRun, "dry-run", false, "only print what would be removed")
	app.DurationVar(cmd.Flags(), &opts.OlderThan, "older-than", 24*time.Hour, "keep objects that are younger, like 7d")
	cmd.Flags().IntVar(&opts.KeepModels, "keep-models", 0, "number of models to keep of each pipeline; default: all")
	return cmd
}

// collect prints the removed objects even if it ended with an error.
func collect(ctx context.Context, a *app.App, l app.Link, opts gc.Options) (err error) {
	opts.Root = l.Root
	opts.Keep = func(ctx context.Context) ([]storage.Ref, error) { return query.ModelsInUse(ctx, l.Bus) }
	done := garbage{DryRun: opts.DryRun, Removed: []collected{}}
	work := a.Begin("gc", "objects")
	err = gc.Collect(ctx, l.Bus, l.Store, opts, func(r gc.Removal) {
		done.add(r)
		work.Add(int64(r.Objects))
		work.Note(r.What + " " + shortExecution(r.Execution))
	})
	work.Close()
	return errors.Join(err, a.Print(done, func(w io.Writer) { garbageTable(w, done) }))
}

func garbageTable(w io.Writer, g garbage) {
	verb := map[bool]string{false: "removed", true: "would remove"}[g.DryRun]
	if len(g.Removed) > 0 {
		terminal.Row(w, "WHAT", "EXECUTION", "ATTEMPT", "OBJECTS", "BYTES", "WHY")
	}
	for _, r := range g.Removed {
		terminal.Row(w, r.What, shortExecution(r.Execution), r.Attempt, r.Objects, r.Bytes, r.Why)
	}
	fmt.Fprintf(w, "%s %d objects, %d bytes\n", verb, g.Objects, g.Bytes)
}

// shortExecution returns the prefix of an execution that distinguishes it from others.
func shortExecution(execution string) string {
	const enough = len("sha256:") + 12
	return execution[:min(len(execution), enough)]
}
