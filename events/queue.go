package events

import (
	"context"
	"time"
)

// JobQueue is the work queue.
type JobQueue interface {
	// Enqueue adds a job once per id: while the job waits or runs, enqueueing it again succeeds and
	// adds nothing. After the job is done it may be added again; the commit in the store makes that
	// harmless.
	Enqueue(ctx context.Context, j Job) error
	// Claim claims one job of function f and one of the classes. It waits up to wait, then returns
	// ErrEmpty. It never prefetches, and claims only a job whose lease is free or expired. Any copy
	// of the queue answers, which gets a job some time after Enqueue has returned.
	Claim(ctx context.Context, f Function, classes []string, wait time.Duration) (Claim, error)
	// Queued returns the message of a job that is on the queue, waiting or running; ErrNotFound if
	// there is none. A job that was given up stays until its worker removes it, and until then
	// Enqueue adds nothing. The leader of the queue answers.
	Queued(ctx context.Context, job string) (Message, error)
	// Cancel asks the worker of a job, or the next one to claim it, to give it up: KeepAlive's ctx
	// ends with cause ErrCancelled, within a heartbeat at the latest, and later attempts find
	// Attempt.Cancelled. The request is kept in the lease's entry. Repeating it succeeds. An event
	// says how the job ended, since its work may have been committed by then.
	//
	// Cancel applies to the job that is on the queue now. For a job that is not there it succeeds
	// without effect, so that the job can be enqueued again: a caller that does not know whether a
	// job was enqueued enqueues it, then cancels.
	Cancel(ctx context.Context, job string) error
	// Queues returns the length of each queue, by function and class. A queue exists once a worker
	// of its class has run, or if the bus was set up with it. It is for observers: the numbers are
	// from different times, and may lack the last changes.
	Queues(ctx context.Context) ([]QueueState, error)
}

// QueueState is the length of the queue of one function and class.
type QueueState struct {
	Function Function `json:"function"`
	Class    string   `json:"class"`
	Waiting  uint64   `json:"waiting"` // jobs that no worker has claimed yet
	// Jobs that a worker has, or has handed back for a later attempt.
	Running uint64 `json:"running"`
	// When the job that waits longest was enqueued; zero if none waits.
	Oldest time.Time `json:"oldest,omitzero"`
}

// Claim is one job under a lease. The lease is a separate KV entry, because redelivery of the bus
// does not fence.
type Claim interface {
	// Job returns the job, or an *Invalid if the message holds none; then only Term makes sense.
	Job() (Job, error)
	Message() Message
	// Attempt returns this attempt. It was counted in the lease's entry before Claim returned.
	Attempt() Attempt
	// KeepAlive runs work and renews the lease meanwhile. The ctx of work is canceled with cause
	// ErrLeaseLost as soon as the lease can't be proved held on the monotonic clock, a margin
	// before it expires; and with cause ErrCancelled, the lease still held, once the job is
	// cancelled (not if Attempt.Cancelled is set from the start: then work is what handles the
	// cancellation). KeepAlive returns what work returned, or ErrLeaseLost. work must return soon
	// after its ctx ends.
	KeepAlive(ctx context.Context, work func(context.Context) error) error
	// Prove returns ErrLeaseLost unless the lease is provably held at this moment. It is a local
	// check. Work calls it immediately before each effect on bus or store: a process that was
	// frozen may continue before its ctx is canceled.
	Prove() error
	// Ack, Nak and Term are those of Delivery, but prove the lease first and return ErrLeaseLost
	// without touching the bus if it is not held. Nak counts the failed attempt in the lease's
	// entry under cause, with why as text for people.
	Ack(ctx context.Context) error
	Nak(ctx context.Context, delay time.Duration, cause FailureKind, why string) error
	Term(ctx context.Context, reason DeadReason) error
}

// Attempt is one attempt at a job.
type Attempt struct {
	ID     string `json:"id"`     // unique: names the directory of its blobs
	Number int    `json:"number"` // from 1
	// Ended attempts by cause; one whose worker died counts as unavailable.
	Failures map[FailureKind]int `json:"failures"`
	// Attempts that were never released: their worker is presumed dead.
	Lost int `json:"lost,omitempty"`

	Cancelled bool `json:"cancelled,omitempty"` // at the claim: the attempt only publishes that
	// By an earlier attempt that may have died before its event: this one publishes it.
	GivenUp *GivenUp `json:"given_up,omitempty"`
}
