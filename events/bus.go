package events

import "errors"

// Errors that a bus returns, wrapped. Callers branch with errors.Is.
var (
	ErrConflict = errors.New("changed by someone else") // a compare-and-swap failed
	ErrNotFound = errors.New("not found")               // no such key
	// Also the cause of KeepAlive's canceled context.
	ErrLeaseLost = errors.New("lease lost")
	ErrEmpty     = errors.New("nothing waiting")    // Claim, Follow or Listen waited in vain
	ErrClosed    = errors.New("bus is closed")      // by Close: waiting does not help
	ErrRefused   = errors.New("refused by the bus") // no permission
	// Permanent; the error has the size and the limit.
	ErrTooLarge  = errors.New("too large for the bus")
	ErrCancelled = errors.New("cancelled") // the cause of KeepAlive's canceled context after Cancel

	// ErrUnavailable means that the bus gives no answer, or none that is reliable: no connection,
	// no leader, no quorum. A later call may succeed.
	ErrUnavailable = errors.New("the bus does not answer")

	// ErrNoResponders means that no process serves the subject of a request.
	ErrNoResponders = errors.New("no process serves the subject")
)

// Bus is the whole message bus of Stoker. Most code needs one part of it and takes that interface.
//
// A call that returns nil is durable as the implementation defines it (events/jetstream:
// replicated, and synced as the servers are configured). All methods are safe for concurrent use.
// No method retries longer than its ctx lasts.
type Bus interface {
	EventLog
	Listeners
	JobQueue
	DeadLetterQueue
	StudyLog
	KVBuckets
	ProgressFeed
	WorkerFeed
	BucketNotifications
	RequestReply
}
