package events

import "errors"

// Errors that a bus returns, wrapped. Callers branch with errors.Is.
var (
	ErrConflict  = errors.New("changed by someone else") // a compare-and-swap lost
	ErrNotFound  = errors.New("not found")               // no such key
	ErrLeaseLost = errors.New("lease lost")              // also the cause of KeepAlive's canceled context
	ErrEmpty     = errors.New("nothing waiting")         // the wait of Claim, Follow or Listen ran out
	ErrClosed    = errors.New("bus is closed")           // by Close: waiting does not help
	ErrRefused   = errors.New("refused by the bus")      // no permission
	ErrTooLarge  = errors.New("too large for the bus")   // permanent; the error says how large it is and what the bus takes
	ErrCancelled = errors.New("cancelled")               // the cause of KeepAlive's canceled context after Cancel

	// ErrUnavailable means that the bus gives no answer, or none that can be trusted: no connection, no leader, no quorum.
	// A later call may succeed.
	ErrUnavailable = errors.New("the bus does not answer")
)

// Bus is everything that Stoker needs of a message bus. Most code needs one part of it and takes that interface.
//
// A call that returns nil is durable as the implementation defines it (of events/jetstream: replicated, and synced as the
// servers are configured). All methods are safe for concurrent use. None retries longer than its ctx lasts.
type Bus interface {
	EventLog
	Listeners
	JobQueue
	DeadLetterQueue
	StudyLog
	KVBuckets
	ProgressFeed
	BucketNotifications
}
