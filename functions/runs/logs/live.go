package logs

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/runs/query"
)

// parts are parts of the logs of jobs.
type parts = iter.Seq2[events.Progress, error]

// reader is a bus that keeps the end of running jobs' logs.
type reader interface {
	Logs(ctx context.Context, pipeline, run string, follow bool) parts
}

func partsOf(ctx context.Context, bus events.Bus, key runs.Key, follow bool) parts {
	if keeper, ok := bus.(reader); ok {
		return keeper.Logs(ctx, key.Pipeline, key.Run, follow)
	}
	return func(func(events.Progress, error) bool) {}
}

// lastParts is how long the last output may take to arrive once the run has ended.
const lastParts = 500 * time.Millisecond

// Follow prints the log until an event after the sequence ends the run, and returns how it ended.
func Follow(ctx context.Context, bus events.Bus, key runs.Key, behind uint64, out *Printer) (ended runs.Summary, err error) {
	for p, err := range partsOf(ctx, bus, key, false) { // --tail applies to the output so far
		if err != nil {
			return ended, err
		}
		out.Part(p)
	}
	out.release()
	following, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var both errgroup.Group
	both.Go(func() error {
		for p, err := range partsOf(following, bus, key, true) {
			if err != nil {
				return unlessEnded(following, err)
			}
			out.Part(p)
		}
		return nil
	})
	both.Go(func() (err error) {
		ended, err = query.End(following, bus, key, behind)
		if err == nil {
			rest := time.NewTimer(lastParts)
			defer rest.Stop()
			select {
			case <-rest.C:
			case <-ctx.Done():
			}
		}
		stop(errEnded)
		return err
	})
	err = both.Wait()
	if errors.Is(err, errEnded) {
		err = nil
	}
	return ended, err
}

// errEnded ends the reading of parts once the run has ended.
var errEnded = errors.New("run has ended")

// unlessEnded returns nil for the error of a reading whose run has ended.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// Live prints what the bus keeps of the log of a running module.
func Live(ctx context.Context, bus events.Bus, key runs.Key, out *Printer) error {
	for p, err := range partsOf(ctx, bus, key, false) {
		if err != nil {
			return err
		}
		out.Part(p)
	}
	if !out.any {
		fmt.Fprintf(out.Notes, "run %s: nothing was printed within the last hour; `stoker runs show` shows what it waits for\n", key.Run)
	}
	return out.Close()
}
