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

// callOffTime bounds the calling off of a job whose own time is over.
const callOffTime = time.Minute

// callOff sees to it that nothing comes of a cancelled job any more, also not by an attempt at it that does not know yet: the
// execution gets a commit that says so. If a result was committed before, that is what is told. It goes on after ctx has ended,
// for as long as the lease is ours.
func (w *Workshop) callOff(ctx context.Context, task worker.Task, kind Kind) ([]events.Fact, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callOffTime)
	defer cancel()
	e, err := kind.Identify(ctx, task)
	if failure, ok := errors.AsType[*events.Failure](err); ok && failure.Kind != events.FailureUnavailable {
		return nil, cancelled(fmt.Errorf("cancelled; nothing could have come of it: %w", err))
	}
	if err != nil {
		return nil, err
	}
	done, err := w.commitCancelled(ctx, e)
	if isCancelled(err) {
		w.discard(ctx, e, e.attempt, slices.Collect(maps.Keys(e.outputs))...)
	}
	if err != nil {
		return nil, e.failed(err)
	}
	return e.tell(kind, *done)
}

// commitCancelled returns a result if one was committed before, else the failure that says cancelled.
func (w *Workshop) commitCancelled(ctx context.Context, e Execution) (*Result, error) {
	for {
		done, err := w.committed(ctx, &e)
		if done != nil || err != nil {
			return done, err
		}
		// Whether ours or another one was first, the next look tells.
		if _, _, err := w.putCommit(ctx, e, storage.Commit{Attempt: e.attempt, Cancelled: true}); err != nil {
			return nil, events.Fail(events.FailureUnavailable, err)
		}
	}
}

func isCancelled(err error) bool {
	_, is := events.AsKind(err, events.FailureCancelled)
	return is
}
