package run

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/runs/logs"
	"github.com/stoker-ml/stoker/functions/runs/query"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// logsFlags are the flags of `stoker logs`.
type logsFlags struct {
	pipeline, attempt string
	follow, raw       bool
	tuning            bool
	tail              int
}

func newLogs(a *app.App) *cobra.Command {
	var f logsFlags
	cmd := &cobra.Command{
		Use:     "logs RUN",
		GroupID: app.Look,
		Annotations: app.Info{Role: access.Console, Output: app.List, With: "RUN --attempt list", Names: "the attempt",
			Always: "number attempt log bytes ended",
		}.Annotations(),
		ValidArgsFunction: a.RunNames,
		Short:             "Print the log of a run's module",
		Long: "Prints the log of a run's module. For a run that has ended it is the complete log from the store, without its middle beyond 9 MiB;\n" +
			"for one that is running it is the end of the log, at most 256 KiB. RUN may be PIPELINE/RUN.",
		Example: "  stoker logs monday -f\n  stoker logs penguin/monday --tail 20\n  stoker logs monday --attempt 1\n  stoker logs monday --tuning",
		Args:    app.Named("a run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return a.WithLink(cmd.Context(), func(ctx context.Context, l app.Link) error {
				key, err := Find(ctx, a, l.Bus, f.pipeline, args[0])
				if err != nil {
					return err
				}
				return printLogs(ctx, a, l, key, f)
			})
		},
	}
	flags := cmd.Flags()
	a.AddPipelineFlag(cmd, &f.pipeline, "pipeline of the run, where several have one of that name; or name it PIPELINE/RUN")
	flags.StringVar(&f.attempt, "attempt", "", "print the log of this attempt, by its number from 1, its id or the beginning of that; list: list the attempts")
	flags.IntVar(&f.tail, "tail", 0, "only this many last lines")
	flags.BoolVarP(&f.follow, "follow", "f", false, "keep printing until the run has ended; exit status 1 unless it has a model")
	flags.BoolVar(&f.tuning, "tuning", false, "print the log of the search for its hyperparameters")
	flags.BoolVar(&f.raw, "raw", false, "print escape sequences unchanged: only for modules that you trust")
	return cmd
}

func (f logsFlags) check() error {
	if f.follow && (f.attempt != "" || f.tuning) {
		return exit.Usage(errors.New("--follow prints the log of the running attempt: expected neither --attempt nor --tuning"))
	}
	return app.Within("tail", f.tail, 0, app.AnyCount)
}

func printLogs(ctx context.Context, a *app.App, l app.Link, key runs.Key, f logsFlags) error {
	to := a.Stdout.Long()
	if f.raw {
		to = a.Stdout.Raw()
	}
	out := &logs.Printer{To: to, Notes: a.Notes(), Raw: f.raw, Tail: f.tail}
	if f.follow {
		return followLog(ctx, a, l, key, out)
	}
	detail, err := query.Of(ctx, l.Bus, key)
	if err != nil {
		return err
	}
	address, err := logs.Address(ctx, l.Bus, detail, f.tuning)
	if err != nil {
		return err
	}
	if f.attempt != "" {
		return attemptLog(ctx, a, l, key, address, f.attempt, out)
	}
	if address == "" && !f.tuning && !detail.Over() {
		return logs.Live(ctx, l.Bus, key, out)
	}
	if address == "" && f.tuning {
		return exit.NotFound(fmt.Errorf("run %s: no search ran for it, or its log was removed: without --tuning this prints the log of the training", key.Run))
	}
	if address == "" {
		return exit.NotFound(fmt.Errorf("run %s: it has no log: its module did not run, or the log was removed", key.Run))
	}
	return logs.Copy(ctx, l.Store, address, out)
}

// followLog prints the log of a running run until it has ended, and then its outcome. It prints
// that of a run that has ended from the store.
func followLog(ctx context.Context, a *app.App, l app.Link, key runs.Key, out *logs.Printer) error {
	detail, err := query.Of(ctx, l.Bus, key)
	if err != nil {
		return err
	}
	ended := detail.Summary
	if !detail.Over() {
		ended, err = logs.Follow(ctx, l.Bus, key, detail.Last(), out)
		if err != nil {
			return exit.Interrupted(ctx, err, fmt.Sprintf("run %s continues", key.Run))
		}
		if detail, err = query.Of(ctx, l.Bus, key); err != nil {
			return err
		}
	}
	// It ended before it was found.
	if address, err := logs.Address(ctx, l.Bus, detail, false); err == nil && address != "" && !out.Any() {
		if err := logs.Copy(ctx, l.Store, address, out); err != nil {
			fmt.Fprintln(a.Notes(), err)
		}
	}
	if err := out.Close(); err != nil {
		return err
	}
	return endedWell(ctx, a, l.Bus, ended)
}

var attemptColumns = []app.Column[logs.Attempt]{
	{Head: "NUMBER", Of: func(one logs.Attempt) any { return one.Number }},
	{Head: "ATTEMPT", Of: func(one logs.Attempt) any { return one.Attempt }},
	{Head: "ENDED", Of: func(one logs.Attempt) any { return terminal.Time(one.Ended) }},
	{Head: "BYTES", Of: func(one logs.Attempt) any { return one.Bytes }},
}

// attemptLog prints the log of one attempt at the execution of a known log, or lists them.
func attemptLog(ctx context.Context, a *app.App, l app.Link, key runs.Key, known, which string, out *logs.Printer) error {
	if known == "" {
		return exit.NotFound(fmt.Errorf("run %s: its attempts can be listed once it has ended with a log", key.Run))
	}
	attempts, err := logs.Attempts(ctx, l.Store, known)
	if err != nil {
		return err
	}
	id := func(one logs.Attempt) string { return one.Attempt }
	if which == "list" {
		return app.PrintList(a, app.Listing[logs.Attempt]{Items: attempts, Name: id, Columns: attemptColumns})
	}
	one, found, err := app.Pick(attempts, which, "attempts", id, func(one logs.Attempt) bool { return strconv.Itoa(one.Number) == which })
	switch {
	case err != nil:
		return err
	case found:
		return logs.Copy(ctx, l.Store, one.Log, out)
	}
	return exit.NotFound(fmt.Errorf("run %s: attempt %s has no log; --attempt list lists the attempts that have one", key.Run, which))
}
