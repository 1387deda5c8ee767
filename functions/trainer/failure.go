package trainer

import (
	"errors"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/guest"
	"github.com/stoker-ml/stoker/storage"
)

func inputFailure(err error) error { return events.Fail(events.FailureInput, err) }

func cancelled(why error) error { return events.Fail(events.FailureCancelled, why) }

// storeFailure says whose fault a store's error is: what is missing or can't be an address is the input's; the rest is
// the world's, and passes. What changed since it was listed is another input now: the next attempt lists again.
func storeFailure(err error) error {
	switch {
	case errors.Is(err, storage.ErrChanged), errors.Is(err, storage.ErrUnavailable):
		return events.Fail(events.FailureUnavailable, err)
	case errors.Is(err, storage.ErrNotFound), errors.Is(err, storage.ErrBadRef), errors.Is(err, storage.ErrIncomplete):
		return inputFailure(err)
	default:
		return events.Fail(events.FailureUnavailable, err)
	}
}

// publishFailure says whose fault it is that outputs are not in the store. What it has no address for, the module has named.
func publishFailure(err error) error {
	if errors.Is(err, storage.ErrBadRef) {
		return checkFailure(err)
	}
	return events.Fail(events.FailureUnavailable, err)
}

// moduleFailure turns what guest tells into the words of events. log is the address of the module's log, if it ran.
func moduleFailure(err error, log string) error {
	failed, ok := errors.AsType[*guest.Error](err)
	if !ok {
		return events.Fail(events.FailureUnavailable, err)
	}
	kinds := map[guest.Kind]events.FailureKind{
		guest.KindInput:     events.FailureInput,
		guest.KindModule:    events.FailureModule,
		guest.KindCrash:     events.FailureCrash,
		guest.KindResources: events.FailureResources,
		guest.KindStopped:   events.FailureUnavailable,
		guest.KindHost:      events.FailureUnavailable,
	}
	return &events.Failure{Kind: kinds[failed.Kind], Err: err, LogTail: failed.LogTail, Log: log}
}
