package follow

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/events"
)

// Listener is told how a run gets on. Its functions are called one at a time each.
type Listener struct {
	Progress func(events.Progress)
	Waits    func(why string) // what the run waits for, where nothing was heard of it for a while; again whenever that changes
}

// errOver ends the watching of progress once the outcome is there.
var errOver = errors.New("run is over")

// Facts publishes facts of one run and returns the fact that tells what came of it. It watches first and publishes then, so that nothing of
// the run is missed. A run that was over before is an error: nothing comes of its facts.
func Facts(ctx context.Context, box events.Letterbox, facts []events.Fact, listen Listener) (events.Fact, error) {
	pipeline, run := facts[0].Pipeline, facts[0].Run
	var outcome events.Fact
	heard := make(chan struct{})
	tell := sync.OnceFunc(func() { close(heard) })
	watching, watchCtx := errgroup.WithContext(ctx)
	progress := box.Watch(watchCtx, pipeline, run)
	watching.Go(func() error {
		for p, err := range progress {
			if err != nil {
				return ignoreEnd(watchCtx, err)
			}
			tell()
			listen.Progress(p)
		}
		return nil
	})
	watching.Go(func() error { explainQuiet(watchCtx, box, facts[0], heard, listen.Waits); return nil })
	watching.Go(func() (err error) {
		if outcome, err = publishAll(watchCtx, box, facts); err != nil {
			return err
		}
		return errOver
	})
	if err := watching.Wait(); !errors.Is(err, errOver) {
		return events.Fact{}, err
	}
	return outcome, nil
}

// publishAll publishes the facts and waits for the outcome of their run.
func publishAll(ctx context.Context, box events.Letterbox, facts []events.Fact) (events.Fact, error) {
	var first uint64
	for _, fact := range facts {
		receipt, err := box.Publish(ctx, fact)
		if err != nil {
			return events.Fact{}, err
		}
		if first == 0 {
			first = receipt.Sequence
		}
	}
	if err := checkGoesOn(ctx, box, facts[0], first); err != nil {
		return events.Fact{}, err
	}
	query := events.Query{
		Kinds:    events.OutcomeKinds(),
		Pipeline: facts[0].Pipeline, Run: facts[0].Run, From: first, Follow: true,
	}
	for recorded, err := range box.Read(ctx, query) {
		if err != nil {
			return events.Fact{}, err
		}
		if recorded.Err == nil {
			return recorded.Fact, nil
		}
	}
	return events.Fact{}, context.Cause(ctx)
}

// ignoreEnd makes no error of a watch that was told to end.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
