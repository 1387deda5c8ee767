// Package follow publishes the events of a run and waits for its outcome. It reports progress and,
// if there is none, what the run waits for. Read Events first.
package follow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/runs/submit"
)

// Listener receives reports on a run. Calls of one function don't overlap.
type Listener struct {
	Progress func(events.Progress)
	// Called after a while without progress with what the run waits for, and again whenever that
	// changes.
	Waits func(why string)
}

// ErrNotPermitted reports a bus that permits its user to publish, but not to follow runs, like that
// of the role upstream.
var ErrNotPermitted = errors.New("only the roles console and operator may follow a run")

// errOver ends the watching of progress once the outcome is known.
var errOver = errors.New("run is over")

// Events publishes events of one run and returns the event with its outcome. It follows the log
// first and publishes then, so that it misses nothing of the run. It returns a *submit.NoEffect as
// soon as one of the events is known to be ignored, because the run was over before or another
// event came first: the run's outcome does not depend on it then. After ErrNotPermitted the events
// may have been published.
func Events(ctx context.Context, bus events.Bus, evs []events.Event, listen Listener) (events.Event, error) {
	pipeline, run := evs[0].Pipeline, evs[0].Run
	var outcome events.Event
	f := follower{bus: bus, published: make(chan struct{}), heard: make(chan struct{}), events: evs}
	hear := sync.OnceFunc(func() { close(f.heard) })
	watching, watchCtx := errgroup.WithContext(ctx)
	progress := bus.Watch(watchCtx, pipeline, run)
	watching.Go(func() error {
		for p, err := range progress {
			if errors.Is(err, events.ErrRefused) {
				return fmt.Errorf("%w: %w", ErrNotPermitted, err)
			}
			if err != nil {
				return ignoreEnd(watchCtx, err)
			}
			hear()
			listen.Progress(p)
		}
		return nil
	})
	watching.Go(func() error { return f.explainQuiet(watchCtx, listen.Waits) })
	watching.Go(func() (err error) {
		if outcome, err = f.publish(watchCtx); err != nil {
			return err
		}
		return errOver
	})
	if err := watching.Wait(); !errors.Is(err, errOver) {
		return events.Event{}, err
	}
	return outcome, nil
}

// follower is one call of Events.
type follower struct {
	bus       events.Bus
	events    []events.Event
	stored    []uint64      // their sequences, once published
	published chan struct{} // closed when the events are published
	heard     chan struct{} // closed at the first progress
}

// publish publishes the events and waits for the outcome of their run.
func (f *follower) publish(ctx context.Context) (events.Event, error) {
	for _, event := range f.events {
		receipt, err := f.bus.Publish(ctx, event)
		if err != nil {
			return events.Event{}, err
		}
		f.stored = append(f.stored, receipt.Sequence)
	}
	close(f.published)
	if err := f.ignored(ctx); err != nil {
		return events.Event{}, err
	}
	query := events.Query{
		Kinds:    events.OutcomeKinds(),
		Pipeline: f.events[0].Pipeline, Run: f.events[0].Run, From: slices.Min(f.stored), Follow: true,
	}
	for recorded, err := range f.bus.Read(ctx, query) {
		if err != nil {
			return events.Event{}, err
		}
		if recorded.Err == nil {
			return recorded.Event, f.ignored(ctx)
		}
	}
	return events.Event{}, context.Cause(ctx)
}

// ignored returns a *submit.NoEffect if one of the published events is known to be ignored.
func (f *follower) ignored(ctx context.Context) error {
	for i, event := range f.events {
		if err := submit.Ignored(ctx, f.bus, event, f.stored[i]); err != nil {
			return err
		}
	}
	return nil
}

// ignoreEnd returns nil for the error of a watch whose context has ended.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// quiet is how long a run may be without progress before the listener gets a reason.
const quiet = time.Second

// explainQuiet reports what the run waits for, and again whenever that changes, until the run makes
// progress. It returns a *submit.NoEffect if an event of the run is ignored.
func (f *follower) explainQuiet(ctx context.Context, report func(string)) error {
	ticks := time.NewTicker(quiet)
	defer ticks.Stop()
	for reported := ""; ; {
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
		if err == nil && why != "" && why != reported { // an error is no reason to stop waiting
			report(why)
			reported = why
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

// whyQuiet returns what the run of an event waits for, and which command helps; "" if it no longer
// waits.
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
		return fmt.Sprintf("is queued until a worker of class %s is free; `stoker worker --classes %[1]s` runs one", state.Class), nil
	case state.State == runs.Running:
		return "is running", nil
	case state.State == runs.Tuning:
		return "is being tuned", nil
	}
	if state.Over() {
		return "", nil
	}
	return state.What(), nil
}
