package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/runs/follow"
	"github.com/stoker-ml/stoker/functions/runs/submit"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// publishAndFollow publishes events of one run and shows its progress, until it has ended, or timeout is over and not 0. The run goes on
// then. An event that turns out to be ignored is an error.
func (a *app) publishAndFollow(ctx context.Context, box events.Letterbox, facts []events.Fact, timeout time.Duration) error {
	var outcome events.Fact
	run := facts[0].Run
	late := fmt.Errorf("run %s: nothing came of it within %s; `%s` says what it waits for", run, timeout, a.command("runs"))
	err := exit.AtMost(ctx, timeout, late, func(ctx context.Context) (err error) {
		outcome, err = a.follow(ctx, box, facts)
		return err
	})
	if none, ignored := errors.AsType[*submit.NoEffect](err); ignored {
		return a.refusal(none)
	}
	if err != nil {
		return exit.Interrupted(ctx, err, fmt.Sprintf("run %s goes on, `%s` shows it", run, a.command("runs")))
	}
	if err := a.print(runs.JSON(outcome), func(w io.Writer) { describe(w, outcome) }); err != nil {
		return err
	}
	return a.endedWell(ctx, box, runs.Outcome(events.Recorded{Fact: outcome}))
}

// follow publishes the facts of a run, and shows how it gets on until something has come of it.
func (a *app) follow(ctx context.Context, box events.Letterbox, facts []events.Fact) (events.Fact, error) {
	show := a.display()
	defer show.Close()
	return follow.Facts(ctx, box, facts, follow.Listener{
		Progress: show.Progress,
		Waits: func(why string) {
			fmt.Fprintf(a.notes(), "run %s %s\n", terminal.Line(facts[0].Run), terminal.Line(why))
		},
	})
}
