package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/runs/find"
)

// endedWell is nil for a run that has a model. For another it is why it has none, in one sentence with what to type next.
func (a *app) endedWell(ctx context.Context, box events.Letterbox, ended runs.State) error {
	switch ended.State {
	case runs.Trained:
		return nil
	case runs.Cancelled: // or superseded, and by which
		return fmt.Errorf("run %s was %s", ended.Run, cmp.Or(runs.FirstLine(ended.Error), runs.Cancelled))
	}
	why := fmt.Sprintf("run %s %s: %s", ended.Run, ended.State, ended.What())
	detail, err := find.Of(ctx, box, find.Key{Pipeline: ended.Pipeline, Run: ended.Run})
	if err != nil { // the reason counts, even where the way on can't be found out
		return errors.New(why)
	}
	return fmt.Errorf("%s; %s", why, a.wayOn(detail))
}

// wayOn is what to type after a failure: what shows all of it, and what tries the run again.
func (a *app) wayOn(d find.Detail) string {
	name := quoted(d.Pipeline + "@" + d.Run)
	if d.DeadLetter == 0 {
		return fmt.Sprintf("`%s` says how to go on", a.command("runs show "+name))
	}
	letter := fmt.Sprintf("`%s` has its dead letter, `%s` tries again once the cause is fixed",
		a.command(fmt.Sprintf("dead show %d", d.DeadLetter)), a.command(fmt.Sprintf("dead retry %d", d.DeadLetter)))
	if d.Failed.Log == "" {
		return letter
	}
	return fmt.Sprintf("`%s` shows its log, %s", a.command("logs "+name), letter)
}
