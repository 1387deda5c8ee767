package follow

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/runs/submit"
)

// quiet is how long a run may be without progress before the listener gets a reason.
const quiet = time.Second

// explainQuiet reports what the run waits for, and again whenever that changes, until the run makes
// progress. It returns a *submit.NoEffect if an event of the run is ignored.
func (f *follower) explainQuiet(ctx context.Context, report func(string)) error {
	ticks := time.NewTicker(quiet)
	defer ticks.Stop()
	for said := ""; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-f.heard:
			return nil
		case <-ticks.C:
		}
		if ignored, ok := errors.AsType[*submit.NoEffect](f.ignoredByNow(ctx)); ok {
			return ignored
		}
		why, err := whyQuiet(ctx, f.bus, f.events[0])
		if err == nil && why != "" && why != said { // an error is no reason to stop waiting
			report(why)
			said = why
		}
	}
}

// ignoredByNow is ignored for events that may not be published yet.
func (f *follower) ignoredByNow(ctx context.Context) error {
	select {
	case <-f.published:
		return f.ignored(ctx)
	default:
		return nil
	}
}

// whyQuiet says what the run of an event waits for, and which command helps; "" if it waits no
// more.
func whyQuiet(ctx context.Context, bus events.Bus, of events.Event) (string, error) {
	state, err := runs.Load(ctx, bus, runs.Key{Pipeline: of.Pipeline, Run: of.Run})
	switch {
	case errors.Is(err, events.ErrNotFound), err == nil && !state.HasJoin && state.State == runs.Waiting:
		return "waits for a dispatcher: `stoker up` or `stoker dispatch` runs one", nil
	case err != nil:
		return "", err
	case state.State == runs.Queued && state.Ended != nil:
		return state.What(), nil
	case state.State == runs.Queued:
		return fmt.Sprintf("is queued; no worker has taken it: a job of class %s needs `stoker worker --classes %[1]s`", state.Class), nil
	case state.State == runs.Running:
		return "is being worked on", nil
	case state.State == runs.Tuning:
		return "is being tuned", nil
	}
	if state.Over() {
		return "", nil
	}
	return state.What(), nil
}
