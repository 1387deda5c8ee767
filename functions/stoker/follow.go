package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/plan"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/runs/follow"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// publishAndFollow publishes a fact and shows how its run gets on, until a fact tells of its end, or timeout is over and not 0.
// The run goes on then.
func (a *app) publishAndFollow(ctx context.Context, box events.Letterbox, fact events.Fact, timeout time.Duration) error {
	var outcome events.Fact
	late := fmt.Errorf("run %s: nothing came of it within %s; `stoker runs` says what it waits for", fact.Run, timeout)
	err := exit.AtMost(ctx, timeout, late, func(ctx context.Context) (err error) {
		outcome, err = a.follow(ctx, box, []events.Fact{fact})
		return err
	})
	if err != nil {
		return exit.Interrupted(ctx, err, fmt.Sprintf("run %s goes on, `stoker runs` shows it", fact.Run))
	}
	if err := a.print(runs.JSON(outcome), func(w io.Writer) { describe(w, outcome) }); err != nil {
		return err
	}
	return endedWell(ctx, box, runs.Outcome(events.Recorded{Fact: outcome}))
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

// noteHasJob warns who asks with a fact for a training anew of a run that has its job: no fact changes that.
func (a *app) noteHasJob(ctx context.Context, box events.Letterbox, of events.Fact) {
	join, err := dispatch.ReadJoin(ctx, box, of.Pipeline, of.Run)
	if err == nil && join.State == plan.Dispatched {
		fmt.Fprintf(a.notes(), "run %s has its job already: `%s`\n", of.Run,
			a.command("replay --run "+quoted(of.Run)+" --pipeline "+of.Pipeline+" --force"))
	}
}
