package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/functions/replay"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
)

// replayFlags are the flags of `stoker replay`.
type replayFlags struct {
	from         string
	opts         replay.Options
	dryRun, wait bool
	timeout      time.Duration
}

func newReplay(app *app) *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay --from TIME|SEQUENCE",
		Short: "Do again what is missing, from the log of facts alone",
		Long: "Looks at every run that has a fact from there on, and does only what is missing or damaged: a run whose model is gone is\n" +
			"trained again (the same execution: a deterministic module makes the same bytes), one whose job is gone gets it again, one that\n" +
			"nobody remembers is joined again. What is whole is left alone, and so is what failed: `stoker dead` has that. A run that starts\n" +
			"from a model that is gone too waits for that one, so that the command may have to stay for a while. Runs are listed and done\n" +
			"in the order in which the facts that they train with had come.\n\n" +
			"--from is a sequence from `stoker runs show`, a time (2026-11-21T09:00:00Z), or how long ago (24h).\n\n" +
			"--force trains the runs anew, whether their models are there or not, as executions of their own. It prints the name of its\n" +
			"request; the same --request again makes the same executions, and so nothing twice.\n\n" + pinnedHelp,
		Example: `  stoker replay --from 24h --dry-run
  stoker replay --from 1 --pipeline penguin --wait
  stoker replay --run monday --force`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			return app.withLink(cmd.Context(), func(ctx context.Context, l link) error { return app.replay(ctx, l, f) })
		},
	}
	f.add(cmd)
	return cmd
}

func (f *replayFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.from, "from", "", "where to begin: a sequence, a time, or a duration ago; with --run it may be left out")
	flags.StringVar(&f.opts.Pipeline, "pipeline", "", "only runs of this pipeline")
	flags.StringVar(&f.opts.Run, "run", "", "only this run")
	flags.BoolVar(&f.opts.Force, "force", false, "train anew what is there too")
	flags.StringVar(&f.opts.Request, "request", "", "name of the request, with --force; default: a new one")
	flags.BoolVar(&f.dryRun, "dry-run", false, "only say what would be done")
	flags.BoolVar(&f.wait, "wait", false, "wait until it is known what came of each run")
	flags.DurationVar(&f.timeout, "timeout", 0, "how long to wait; default: for ever")
}

func (f *replayFlags) check(cmd *cobra.Command) error {
	switch {
	case f.from == "" && f.opts.Run == "":
		return exit.Usage(errors.New("expected --from or --run: `stoker replay --from 1` looks at everything"))
	case f.opts.Request != "" && !f.opts.Force:
		return exit.Usage(errors.New("--request goes with --force"))
	}
	if f.opts.Force && f.opts.Request == "" {
		f.opts.Request = strings.ToLower(rand.Text())
	}
	if err := checkTimeout(true, f.timeout); err != nil { // a run that others depend on is waited for without --wait too
		return err
	}
	var err error
	f.opts.From, err = parseFrom(f.from, time.Now())
	return err
}

// parseFrom reads --from.
func parseFrom(text string, now time.Time) (from replay.From, err error) {
	if text == "" {
		return from, nil
	}
	if sequence, err := strconv.ParseUint(text, 10, 64); err == nil {
		return replay.From{Sequence: sequence}, nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return replay.From{Time: now.Add(-ago)}, nil
	}
	if from.Time, err = time.Parse(time.RFC3339, text); err == nil {
		return from, nil
	}
	return from, exit.Usage(fmt.Errorf("--from %s: expected a sequence like 17, a time like 2026-11-21T09:00:00Z, or a duration ago like 24h", text))
}
