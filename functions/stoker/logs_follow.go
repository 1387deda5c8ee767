package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/runs/find"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
)

// logParts are parts of the logs of jobs.
type logParts = iter.Seq2[events.Progress, error]

func partsOf(ctx context.Context, box events.Letterbox, key find.Key, follow bool) logParts {
	if reader, ok := box.(logReader); ok {
		return reader.Logs(ctx, key.Pipeline, key.Run, follow)
	}
	return func(func(events.Progress, error) bool) {}
}

// followLog prints what is being printed until the run has ended, and says how it did. A run that has ended is printed from the store.
func (a *app) followLog(ctx context.Context, l link, key find.Key, out *logPrinter) error {
	detail, err := find.Of(ctx, l.box, key)
	if err != nil {
		return err
	}
	ended := detail.Summary
	if !detail.Over() {
		ended, err = a.followLive(ctx, l.box, key, detail.Last(), out)
		if err != nil {
			return exit.Interrupted(ctx, err, fmt.Sprintf("run %s goes on", key.Run))
		}
		if detail, err = find.Of(ctx, l.box, key); err != nil {
			return err
		}
	}
	if address, err := keptLog(ctx, detail, l, false); err == nil && address != "" && !out.any { // it ended before it was looked at
		if err := copyLog(ctx, l, address, out); err != nil {
			fmt.Fprintln(a.notes(), err)
		}
	}
	if err := out.close(); err != nil {
		return err
	}
	return endedWell(ended)
}

// lastParts is how long what was printed last may be on its way when the run has ended.
const lastParts = 500 * time.Millisecond

// followLive prints parts as they come until a fact tells of the run's end.
func (a *app) followLive(ctx context.Context, box events.Letterbox, key find.Key, behind uint64, out *logPrinter) (ended runs.State, err error) {
	for p, err := range partsOf(ctx, box, key, false) { // of what is there already, --tail is wanted
		if err != nil {
			return ended, err
		}
		out.part(p)
	}
	out.release()
	following, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var both errgroup.Group
	both.Go(func() error {
		for p, err := range partsOf(following, box, key, true) {
			if err != nil {
				return ignoreEnd(following, err)
			}
			out.part(p)
		}
		return nil
	})
	both.Go(func() (err error) {
		ended, err = find.End(following, box, key, behind)
		if err == nil {
			rest := time.NewTimer(lastParts)
			defer rest.Stop()
			select {
			case <-rest.C:
			case <-ctx.Done():
			}
		}
		stop(errOver)
		return err
	})
	err = both.Wait()
	if errors.Is(err, errOver) {
		err = nil
	}
	return ended, err
}
