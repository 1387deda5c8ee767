package worker

import (
	"errors"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// disposition is what a worker does with a job after an attempt.
type disposition int

const (
	ack disposition = iota
	retry
	deadLetter
	cancelled
)

// decide is the table of dispositions in the package comment. The attempts before this one are
// counted in attempt.Failures.
func decide(err error, attempt events.Attempt, limits Limits) (disposition, *events.Failure) {
	if err == nil {
		return ack, nil
	}
	failure := classify(err)
	if _, is := errors.AsType[final](err); is {
		return deadLetter, failure
	}
	switch failure.Kind {
	case events.FailureCancelled:
		return cancelled, failure
	case events.FailureInput, events.FailureIncomplete:
		return deadLetter, failure
	case events.FailureModule, events.FailureCheck:
		return exhausted(attempt, limits.Attempts, events.FailureModule, events.FailureCheck), failure
	case events.FailureCrash, events.FailureResources:
		return exhausted(attempt, limits.Crashes, events.FailureCrash, events.FailureResources), failure
	default:
		return retry, failure
	}
}

// final is a failure that no further attempt can repair, whatever its kind and the limits.
type final struct{ *events.Failure }

// Unwrap finds the failure itself, not only what it wraps.
func (f final) Unwrap() error { return f.Failure }

// Later is an error of Handle that is not a failure: the job waits for something, and is handed
// back meanwhile.
type Later struct {
	After time.Duration
	Why   string
}

func (l Later) Error() string { return l.Why }

// IsWaiting implements telemetry.Waiting, so that telemetry does not report this as an error.
func (Later) IsWaiting() {}

// classify finds the failure in err; any other error counts as a fault of the environment, not of
// the job.
func classify(err error) *events.Failure {
	if failure, ok := errors.AsType[*events.Failure](err); ok {
		return failure
	}
	return &events.Failure{Kind: events.FailureUnavailable, Err: err}
}

// exhausted counts the attempts that ended with one of kinds, this one included.
func exhausted(attempt events.Attempt, limit int, kinds ...events.FailureKind) disposition {
	count := 1
	for _, kind := range kinds {
		count += attempt.Failures[kind]
	}
	if count >= limit {
		return deadLetter
	}
	return retry
}

// backoff returns how long a job waits before its next attempt: 1 s, doubled for each earlier
// failure, at most a minute.
func backoff(attempt events.Attempt) time.Duration {
	failures := 0
	for _, count := range attempt.Failures {
		failures += count
	}
	return min(time.Second<<min(failures, 10), time.Minute)
}
