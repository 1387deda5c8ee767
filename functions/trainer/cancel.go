package trainer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/worker"
	"github.com/stoker-ml/stoker/storage"
)

// callOffTime bounds the calling off of a job whose own time is over.
const callOffTime = time.Minute

// callOff sees to it that nothing comes of a cancelled job any more, also not by an attempt at it that does not know yet: the
// execution gets a commit that says so. If a model was committed before, that is what is told. It goes on after ctx has ended,
// for as long as the lease is ours.
func (t *Trainer) callOff(ctx context.Context, task worker.Task) ([]events.Fact, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callOffTime)
	defer cancel()
	e, err := t.identify(ctx, task, storage.Fenced(t.store, task.Prove))
	if failure, ok := errors.AsType[*events.Failure](err); ok && failure.Kind != events.FailureUnavailable {
		return nil, cancelled(fmt.Errorf("cancelled; nothing could have come of it: %w", err))
	}
	if err != nil {
		return nil, err
	}
	done, err := t.commitCancelled(ctx, e, task.Attempt.ID)
	if isCancelled(err) {
		t.discard(ctx, e, task.Attempt.ID, outputs()...)
	}
	if err != nil {
		return nil, e.failed(err)
	}
	return []events.Fact{trained(task.Job, *done)}, nil
}

// commitCancelled returns a result if a model was committed before, else the failure that says cancelled.
func (t *Trainer) commitCancelled(ctx context.Context, e execution, attempt string) (*result, error) {
	for {
		done, err := t.committed(ctx, &e)
		if done != nil || err != nil {
			return done, err
		}
		// Whether ours or another one was first, the next look tells.
		if _, _, err := t.putCommit(ctx, e, storage.Commit{Attempt: attempt, Cancelled: true}); err != nil {
			return nil, events.Fail(events.FailureUnavailable, err)
		}
	}
}

func isCancelled(err error) bool {
	_, is := events.AsKind(err, events.FailureCancelled)
	return is
}
