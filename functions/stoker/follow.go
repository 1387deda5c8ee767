package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
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
	if failed, ok := outcome.Data.(*events.TrainingFailed); ok {
		return a.failedRun(outcome.Run, failed)
	}
	return nil
}

// failedRun is the error of a run that failed. The table before it has said why; JSON is read by programs.
func (a *app) failedRun(run string, failed *events.TrainingFailed) error {
	switch {
	case failed.Reason == events.FailureCancelled:
		return fmt.Errorf("run %s was %s", run, runs.FirstLine(failed.Message)) // cancelled, or superseded by which
	case a.forPrograms():
		return fmt.Errorf("run %s failed: %s", run, runs.FirstLine(failed.Message))
	}
	return fmt.Errorf("run %s failed (%s)", run, failed.Reason)
}

// errOver ends the watching of progress once the outcome is there.
var errOver = errors.New("run is over")

// follow watches first and publishes then, so that nothing of the run is missed.
func (a *app) follow(ctx context.Context, box events.Letterbox, facts []events.Fact) (events.Fact, error) {
	pipeline, run := facts[0].Pipeline, facts[0].Run
	show := a.display()
	defer show.Close()
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
			show.Progress(p)
		}
		return nil
	})
	watching.Go(func() error { a.explainQuiet(watchCtx, box, facts[0], heard); return nil })
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
