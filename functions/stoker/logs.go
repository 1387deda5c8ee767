package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs/find"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
)

// logsFlags are the flags of `stoker logs`.
type logsFlags struct {
	pipeline, attempt string
	follow, raw       bool
	tuning            bool
	tail              int
}

func newLogs(app *app) *cobra.Command {
	var f logsFlags
	cmd := &cobra.Command{
		Use:   "logs RUN",
		Short: "Print what the module of a run has printed; with -f while it runs",
		Long: "Prints the log of a run's module. Of a run that has ended it is whole, from the store (its middle is left out beyond 9 MiB);\n" +
			"of one that is being worked on it is the end, at most 256 KiB. RUN may be PIPELINE/RUN.",
		Example: "  stoker logs monday -f\n  stoker logs penguin/monday --tail 20\n  stoker logs monday --attempt 1\n  stoker logs monday --tuning",
		Args:    exactly(1, "a run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return app.withLink(cmd.Context(), func(ctx context.Context, l link) error {
				key, err := f.find(ctx, app, l.box, args[0])
				if err != nil {
					return err
				}
				return app.logs(ctx, l, key, f)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.pipeline, "pipeline", "", "pipeline of the run, where several have one of that name")
	flags.StringVar(&f.attempt, "attempt", "", "that attempt's: its number, from 1, or id; list: which there are")
	flags.IntVar(&f.tail, "tail", 0, "only the last lines, so many")
	flags.BoolVarP(&f.follow, "follow", "f", false, "go on with what is printed until the run has ended; exit status 1 unless it has a model")
	flags.BoolVar(&f.tuning, "tuning", false, "the log of the search for its hyperparameters")
	flags.BoolVar(&f.raw, "raw", false, "as it was printed, with what it tells a terminal")
	return cmd
}

func (f logsFlags) check() error {
	if f.follow && (f.attempt != "" || f.tuning) {
		return exit.Usage(errors.New("--follow shows what is being printed: it goes with neither --attempt nor --tuning"))
	}
	return within("tail", f.tail, 0, anyCount)
}

// find finds the run. One whose name holds a slash is itself found first.
func (f logsFlags) find(ctx context.Context, app *app, box events.Letterbox, arg string) (find.Key, error) {
	key, err := app.findRun(ctx, box, f.pipeline, arg)
	pipeline, run, both := strings.Cut(arg, "/")
	if !both || f.pipeline != "" || exit.Code(err) != exit.Missing || events.CheckName("pipeline", pipeline) != nil {
		return key, err
	}
	if other, otherErr := app.findRun(ctx, box, pipeline, run); otherErr == nil {
		return other, nil
	}
	return key, err
}

// logReader is a bus that keeps the end of running jobs' logs.
type logReader interface {
	Logs(ctx context.Context, pipeline, run string, follow bool) logParts
}

func (a *app) logs(ctx context.Context, l link, key find.Key, f logsFlags) error {
	out := &logPrinter{to: a.stdout, notes: a.notes(), raw: f.raw, tail: f.tail}
	if f.follow {
		return a.followLog(ctx, l, key, out)
	}
	detail, err := find.Of(ctx, l.box, key)
	if err != nil {
		return err
	}
	address, err := keptLog(ctx, detail, l, f.tuning)
	if err != nil {
		return err
	}
	if f.attempt != "" {
		return a.attemptLog(ctx, l, key, address, f.attempt, out)
	}
	if address == "" && !f.tuning && !detail.Over() {
		return printLive(ctx, l.box, key, out)
	}
	if address == "" {
		return exit.NotFound(fmt.Errorf("run %s: no log of it is kept: its module was not run, or what it left is gone", key.Run))
	}
	return copyLog(ctx, l, address, out)
}

// printLive prints what the bus has of a log whose module runs.
func printLive(ctx context.Context, box events.Letterbox, key find.Key, out *logPrinter) error {
	for p, err := range partsOf(ctx, box, key, false) {
		if err != nil {
			return err
		}
		out.part(p)
	}
	if !out.any {
		fmt.Fprintf(out.notes, "run %s: nothing was printed within the last hour; `stoker runs show` says what it waits for\n", key.Run)
	}
	return out.close()
}

// copyLog prints one that is in the store.
func copyLog(ctx context.Context, l link, address string, out *logPrinter) error {
	body, err := openLog(ctx, l.store, address)
	if err != nil {
		return err
	}
	defer body.Close()
	if _, err := io.Copy(out, body); err != nil {
		return fmt.Errorf("read %s: %w", address, err)
	}
	return out.close()
}
