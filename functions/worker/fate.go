package worker

import (
	"errors"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// fate is what becomes of a job after an attempt.
type fate int

const (
	done fate = iota
	later
	never
	cancelled
)

// decide is the table of fates in the package comment. The attempts before this one are counted in attempt.Failures.
func decide(err error, attempt events.Attempt, limits Limits) (fate, *events.Failure) {
	if err == nil {
		return done, nil
	}
	failure := classify(err)
	if _, is := errors.AsType[final](err); is {
		return never, failure
	}
	switch failure.Kind {
	case events.FailureCancelled:
		return cancelled, failure
	case events.FailureInput, events.FailureIncomplete:
		return never, failure
	case events.FailureModule, events.FailureCheck:
		return exhausted(attempt, limits.Attempts, events.FailureModule, events.FailureCheck), failure
	case events.FailureCrash, events.FailureResources:
		return exhausted(attempt, limits.Crashes, events.FailureCrash, events.FailureResources), failure
	default:
		return later, failure
	}
}

// final is a failure that no further attempt mends, whatever its kind and the limits.
type final struct{ *events.Failure }

// Unwrap finds the failure itself, not only what it wraps.
func (f final) Unwrap() error { return f.Failure }

// Later is an error of Handle's by which nothing has failed: the job waits for something, and is handed back meanwhile.
type Later struct {
	After time.Duration
	Why   string
}

func (l Later) Error() string { return l.Why }

// IsWaiting says that no error is told of: it is a telemetry.Waiting.
func (Later) IsWaiting() {}

// classify finds the failure in err; an error that says nothing of itself is taken for the world's fault, not the job's.
func classify(err error) *events.Failure {
	if failure, ok := errors.AsType[*events.Failure](err); ok {
		return failure
	}
	return &events.Failure{Kind: events.FailureUnavailable, Err: err}
}

// exhausted counts the attempts that ended for one of kinds, this one included.
func exhausted(attempt events.Attempt, limit int, kinds ...events.FailureKind) fate {
	count := 1
	for _, kind := range kinds {
		count += attempt.Failures[kind]
	}
	if count >= limit {
		return never
	}
	return later
}

// backoff is how long a job waits before its next attempt: 1 s, doubled for each earlier failure, at most a minute.
func backoff(attempt events.Attempt) time.Duration {
	failures := 0
	for _, count := range attempt.Failures {
		failures += count
	}
	return min(time.Second<<min(failures, 10), time.Minute)
}
