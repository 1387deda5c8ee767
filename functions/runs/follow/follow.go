package follow

import (
	"context"
	"errors"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs/submit"
)

// Listener receives reports on a run. Calls of one function don't overlap.
type Listener struct {
	Progress func(events.Progress)
	Waits    func(why string) // what the run waits for, after a while without progress; again whenever that changes
}

// errOver ends the watching of progress once the outcome is there.
var errOver = errors.New("run is over")

// Facts publishes events of one run and returns the event with its outcome. It follows the log
// first and publishes then, so that it misses nothing of the run. It returns a *submit.NoEffect as
// soon as one of the events is known to be ignored, because the run was over before or another
// event came first: the run's outcome does not depend on it then.
func Facts(ctx context.Context, box events.Letterbox, facts []events.Fact, listen Listener) (events.Fact, error) {
	pipeline, run := facts[0].Pipeline, facts[0].Run
	var outcome events.Fact
	f := follower{box: box, published: make(chan struct{}), heard: make(chan struct{}), events: facts}
	hear := sync.OnceFunc(func() { close(f.heard) })
	watching, watchCtx := errgroup.WithContext(ctx)
	progress := box.Watch(watchCtx, pipeline, run)
	watching.Go(func() error {
		for p, err := range progress {
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
		return events.Fact{}, err
	}
	return outcome, nil
}

// follower is one call of Facts.
type follower struct {
	box       events.Letterbox
	events    []events.Fact
	stored    []uint64      // their sequences, once published
	published chan struct{} // closed then
	heard     chan struct{} // closed at the first progress
}

// publish publishes the events and waits for the outcome of their run.
func (f *follower) publish(ctx context.Context) (events.Fact, error) {
	for _, event := range f.events {
		receipt, err := f.box.Publish(ctx, event)
		if err != nil {
			return events.Fact{}, err
		}
		f.stored = append(f.stored, receipt.Sequence)
	}
	close(f.published)
	if err := f.ignored(ctx); err != nil {
		return events.Fact{}, err
	}
	query := events.Query{
		Kinds:    events.OutcomeKinds(),
		Pipeline: f.events[0].Pipeline, Run: f.events[0].Run, From: slices.Min(f.stored), Follow: true,
	}
	for recorded, err := range f.box.Read(ctx, query) {
		if err != nil {
			return events.Fact{}, err
		}
		if recorded.Err == nil {
			return recorded.Fact, f.ignored(ctx)
		}
	}
	return events.Fact{}, context.Cause(ctx)
}

// ignored returns a *submit.NoEffect if one of the published events is known to be ignored.
func (f *follower) ignored(ctx context.Context) error {
	for i, event := range f.events {
		if err := submit.Ignored(ctx, f.box, event, f.stored[i]); err != nil {
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
