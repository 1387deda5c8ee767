package events

import (
	"errors"
	"slices"
)

// FailureKind is the closed list of what can go wrong with a job. Only functions/worker maps a kind
// to a disposition.
type FailureKind string

// The kinds. The package comment of functions/worker has the disposition of each.
const (
	// Malformed data, a missing split or an unknown pipeline: no retry helps.
	FailureInput  FailureKind = "input"
	FailureModule FailureKind = "module" // the module raised, or wrote no model
	FailureCheck  FailureKind = "check"  // the model was written but failed its check
	// The module's process was killed by a signal or aborted.
	FailureCrash      FailureKind = "crash"
	FailureResources  FailureKind = "resources"  // over its memory or time limit
	FailureIncomplete FailureKind = "incomplete" // a join expired before it had all its events
	FailureCancelled  FailureKind = "cancelled"  // a user cancelled it
	// Bus or store unavailable, lease lost, worker stopped: retried without limit.
	FailureUnavailable FailureKind = "unavailable"
)

// FailureKinds lists every kind.
func FailureKinds() []FailureKind {
	return []FailureKind{FailureInput, FailureModule, FailureCheck, FailureCrash, FailureResources, FailureIncomplete,
		FailureCancelled, FailureUnavailable}
}

// Failure is an error with its kind. Packages wrap errors with Fail; errors.AsType finds it again,
// and AsKind only one of a kind.
type Failure struct {
	Kind    FailureKind
	Err     error
	LogTail string // the end of the module's log, if a module ran
	Log     string // address of the whole log, if it was kept

	Execution string // sha256:<hex>, once it was known
}

// Fail wraps err with the kind of failure it is; nil stays nil.
func Fail(kind FailureKind, err error) error {
	if err == nil {
		return nil
	}
	return &Failure{Kind: kind, Err: err}
}

// AsKind finds the failure in err; false if there is none, or if it is of another kind.
func AsKind(err error, kind FailureKind) (*Failure, bool) {
	failure, ok := errors.AsType[*Failure](err)
	if !ok || failure.Kind != kind {
		return nil, false
	}
	return failure, true
}

func (f *Failure) Error() string { return f.Err.Error() }
func (f *Failure) Unwrap() error { return f.Err }

func checkFailureKind(field string, kind FailureKind) error {
	if slices.Contains(FailureKinds(), kind) {
		return nil
	}
	return invalid(field, "input, module, check, crash, resources, incomplete, cancelled or unavailable", string(kind))
}
