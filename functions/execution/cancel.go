package execution

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/worker"
	"github.com/stoker-ml/stoker/storage"
)

// cancelTime limits how long a job can be cancelled for after its own context has ended.
const cancelTime = time.Minute

// cancel ensures that a cancelled job has no result, not even from an attempt that does not yet
// know of the cancellation: it writes a cancelled commit to the execution, by the same condition as
// any commit. If a result was committed before, cancel returns its event. cancel continues after
// ctx has ended, for as long as the lease is held.
func (x *Executor) cancel(ctx context.Context, task worker.Task, c Component) ([]events.Event, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer cancel()
	e, err := x.Identify(ctx, task, c)
	if failure, ok := errors.AsType[*events.Failure](err); ok && failure.Kind != events.FailureUnavailable {
		return nil, cancelled(fmt.Errorf("cancelled; it could not have succeeded: %w", err))
	}
	if err != nil {
		return nil, err
	}
	done, err := x.commitCancelled(ctx, e)
	if isCancelled(err) {
		x.discard(ctx, e, e.attempt, slices.Collect(maps.Keys(e.Outputs))...)
	}
	if err != nil {
		return nil, e.failed(err)
	}
	evs, err := e.event(c, *done)
	return evs, e.failed(err)
}

// commitCancelled returns a result if one was committed before, else a failure of kind cancelled.
func (x *Executor) commitCancelled(ctx context.Context, e Execution) (*Committed, error) {
	for {
		done, err := x.committed(ctx, &e)
		if done != nil || err != nil {
			return done, err
		}
		// The next lookup tells whether this commit or another one was first.
		if _, _, err := x.putCommit(ctx, e, storage.Commit{Attempt: e.attempt, Cancelled: true}); err != nil {
			return nil, events.Fail(events.FailureUnavailable, err)
		}
	}
}

func isCancelled(err error) bool {
	_, is := events.AsKind(err, events.FailureCancelled)
	return is
}
