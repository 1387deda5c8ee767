package execution

import (
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/storage"
)

// InputFailure is the fault of what the job was given.
func InputFailure(err error) error { return events.Fail(events.FailureInput, err) }

// CheckFailure is the fault of what the module left.
func CheckFailure(err error) error { return events.Fail(events.FailureCheck, err) }

func cancelled(why error) error { return events.Fail(events.FailureCancelled, why) }

// StoreFailure says whose fault a store's error is: what is missing or can't be an address is the
// input's; the rest is the world's, and passes. What changed since it was listed is another input
// now: the next attempt lists again.
func StoreFailure(err error) error {
	switch {
	case errors.Is(err, storage.ErrChanged), errors.Is(err, storage.ErrUnavailable):
		return events.Fail(events.FailureUnavailable, err)
	case errors.Is(err, storage.ErrNotFound), errors.Is(err, storage.ErrBadRef), errors.Is(err, storage.ErrIncomplete):
		return InputFailure(err)
	case errors.Is(err, storage.ErrDenied):
		return events.Fail(events.FailureUnavailable, fmt.Errorf("%w: %w", errUnreadable, err))
	default:
		return events.Fail(events.FailureUnavailable, err)
	}
}

// errUnreadable marks an input that the store won't let us read. S3 also says so of what is not
// there, to clients that may not list.
var errUnreadable = errors.New("input can't be read")

// deniedTries is how often an input is asked for that the store denies: a permission that was just
// given takes a while.
const deniedTries = 5

// deniedTooOften makes it the job's own fault that its inputs are still denied, so that a mistyped
// bucket is reported.
func deniedTooOften(attempt events.Attempt, err error) error {
	if errors.Is(err, errUnreadable) && attempt.Number >= deniedTries {
		return InputFailure(err)
	}
	return err
}

// publishFailure says whose fault it is that outputs are not in the store. What it has no address
// for, the module has named.
func publishFailure(err error) error {
	if errors.Is(err, storage.ErrBadRef) {
		return CheckFailure(err)
	}
	return events.Fail(events.FailureUnavailable, err)
}

// moduleFailure turns an error of the runner into a failure of the job. log is the address of the
// module's log, if it ran.
func moduleFailure(err error, log string) error {
	if failure, ok := errors.AsType[*events.Failure](err); ok { // of another host
		return &events.Failure{Kind: failure.Kind, Err: failure.Err, LogTail: failure.LogTail, Log: log}
	}
	failed, ok := errors.AsType[*runner.Error](err)
	if !ok {
		return events.Fail(events.FailureUnavailable, err)
	}
	kinds := map[runner.Kind]events.FailureKind{
		runner.KindInput:     events.FailureInput,
		runner.KindModule:    events.FailureModule,
		runner.KindCrash:     events.FailureCrash,
		runner.KindResources: events.FailureResources,
		runner.KindStopped:   events.FailureUnavailable,
		runner.KindHost:      events.FailureUnavailable,
	}
	return &events.Failure{Kind: kinds[failed.Kind], Err: err, LogTail: failed.LogTail, Log: log}
}
