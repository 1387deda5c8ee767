package execution

import (
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/storage"
)

// InputFailure returns the failure of a job whose inputs are at fault.
func InputFailure(err error) error { return events.Fail(events.FailureInput, err) }

// CheckFailure returns the failure of a job whose module left outputs that are at fault.
func CheckFailure(err error) error { return events.Fail(events.FailureCheck, err) }

func cancelled(why error) error { return events.Fail(events.FailureCancelled, why) }

// StoreFailure classifies an error of the store. A missing object or an invalid address is the
// fault of the job's inputs. All other errors are transient. An object that has changed since it
// was listed is one too, because the next attempt lists it again.
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

// errUnreadable reports an input that the store does not allow us to read. S3 also answers so for
// missing objects if the client may not list.
var errUnreadable = errors.New("input can't be read")

// deniedTries is how often an input is requested that the store denies, because a new permission
// takes effect with a delay.
const deniedTries = 5

// deniedTooOften makes inputs that are still denied the fault of the job, so that a mistyped bucket
// is reported.
func deniedTooOften(attempt events.Attempt, err error) error {
	if errors.Is(err, errUnreadable) && attempt.Number >= deniedTries {
		return InputFailure(err)
	}
	return err
}

// publishFailure classifies an error of publishing. A name that the store has no address for was
// chosen by the module.
func publishFailure(err error) error {
	if errors.Is(err, storage.ErrBadRef) {
		return CheckFailure(err)
	}
	return events.Fail(events.FailureUnavailable, err)
}

// moduleFailure turns an error of the runner into a failure of the job. log is the address of the
// module's log, if it ran.
func moduleFailure(err error, log string) error {
	if failure, ok := errors.AsType[*events.Failure](err); ok { // another host's failure
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
