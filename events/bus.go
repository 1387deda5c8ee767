package events

import (
	"context"
	"errors"
	"iter"
	"time"
)

// Errors a bus returns, wrapped; callers branch with errors.Is.
var (
	ErrConflict  = errors.New("changed by someone else") // a compare-and-swap lost
	ErrNotFound  = errors.New("not found")               // no such key
	ErrLeaseLost = errors.New("lease lost")              // also the cause of KeepAlive's cancelled context
	ErrEmpty     = errors.New("nothing waiting")         // Claim's wait ran out
	ErrClosed    = errors.New("bus is closed")           // by Close: nothing comes of waiting
	ErrRefused   = errors.New("refused by the bus")      // no permission
	ErrTooLarge  = errors.New("too large for the bus")   // never will be taken; the error says how large, and what the bus takes
	ErrCancelled = errors.New("cancelled")               // the cause of KeepAlive's cancelled context after Cancel

	// ErrUnavailable says that the bus gives no answer, or none that counts: no connection, no leader, no quorum. It may pass.
	ErrUnavailable = errors.New("the bus does not answer")
)

// Bus is one bus: the log of facts, the queue of jobs, and the small registers that decide races.
// Everything that returns nil is durable as the bus defines it; every method may be called from many goroutines; none
// retries for longer than its ctx.
type Bus interface {
	EventLog
	JobQueue
	BucketNotifications
	StudyLog
	Listeners
	// Register opens a compare-and-swap map, one of those named below.
	KV(ctx context.Context, name string) (KV, error)
	// Report tells how a job is getting on, to whoever watches. It is cheap, may be lost, and never blocks on the bus.
	Report(ctx context.Context, p Progress) error
	// Watch yields progress as it is reported from the moment of the call on, until ctx ends. "" matches any pipeline or run.
	Watch(ctx context.Context, pipeline, run string) iter.Seq2[Progress, error]
	// Dead yields dead letters, oldest first, as some copy of the stream has them: it may lack the newest, the caller's own included,
	// and hold some that were dropped.
	DeadLetters(ctx context.Context) iter.Seq2[DeadLetter, error]
	// DeadLetter appends a dead letter, once for each message: burying again is success.
	DeadLetter(ctx context.Context, d DeadLetter) error
	// Drop removes the dead letter of that sequence for good. ErrNotFound if it is not there.
	DeleteDeadLetter(ctx context.Context, sequence uint64) error
}

// The registers.
const (
	KVPipelines = "PIPELINES"
	KVJoins     = "JOINS"
	KVGates     = "GATES" // which runs of a pipeline are admitted, and which wait: functions/dispatch/join
	KVLeases    = "LEASES"
)

// EventLog is the replayable stream of facts.
type EventLog interface {
	// Publish appends a valid fact once: a second Publish of the same subject (kind, pipeline, run, id) is success with
	// Receipt.Duplicate and the sequence of the first. ErrConflict if the first was another event: CheckRepeated. After ErrUnavailable the
	// event may have been stored, or may not.
	Publish(ctx context.Context, f Event) (Receipt, error)
	// Read yields facts in order of their sequence. Messages that are no valid fact are yielded with their Message and
	// an *Invalid as Recorded.Err; the error of the pair is for the bus itself and ends the sequence.
	//
	// It is complete at the leader of the log: it yields every fact that was acknowledged before the call, up to Until, and ends with an
	// error where that can't be known. A leader that has lost the other servers may not know the newest facts for some seconds. With
	// Follow it reads any copy, which gets there later.
	Read(ctx context.Context, q Query) iter.Seq2[Recorded, error]
	// Follow takes the next unread fact for the named durable reader (functions/dispatch), waiting up to wait; then
	// ErrEmpty. It is delivered again until Ack or Term. It reads any copy: facts may be on the log that it does not deliver yet.
	Follow(ctx context.Context, reader string, wait time.Duration) (EventDelivery, error)
	// Delivered is the sequence of the newest fact that was delivered to the named durable reader, settled or not; 0 if none was. What is
	// behind it is still to be delivered. The leader of the reader answers.
	Delivered(ctx context.Context, reader string) (uint64, error)
}

// JobQueue is the work queue.
type JobQueue interface {
	// Enqueue puts a job on the queue once per id: offering it again while it waits or runs is success. After it was done,
	// it may be accepted again; the commit in the store makes that harmless.
	Enqueue(ctx context.Context, j Job) error
	// Claim claims one job for function f of one of the classes, waiting up to wait; then ErrEmpty. It never prefetches,
	// and claims only a job whose lease is free or has run out. It reads any copy of the queue, which gets a job some time after Enqueue
	// has returned.
	Claim(ctx context.Context, f Function, classes []string, wait time.Duration) (Claim, error)
	// Queued is the message of a job that is on the queue, whether it waits or someone works on it; ErrNotFound if there is none. A job
	// that was given up is there until its worker takes it off, and as long as that, Enqueue adds nothing. The leader of the queue answers.
	Queued(ctx context.Context, job string) (Message, error)
	// Cancel asks whoever works on the job, or takes it next, to give it up: KeepAlive's ctx ends with cause ErrCancelled, within a
	// heartbeat at the latest, and later attempts find Attempt.Cancelled. It is kept in the lease's entry. Asking again is
	// success. What comes of it is told by a fact, for the work may have been committed by then.
	//
	// It is about the job as it is on the queue now. For one that is not there, or not any more, it is success and leaves nothing
	// behind, so that the job can be offered again: who is not sure whether a job was offered offers it, and cancels then.
	Cancel(ctx context.Context, job string) error
}

// BucketNotifications is the stream of what object stores tell of their buckets: S3 event JSON on subjects below "buckets.", kept for a week.
// Stores write there by themselves, without headers or ids; what they tell is no fact until functions/bridge makes it one.
type BucketNotifications interface {
	// FollowBuckets takes the next unread notice for the named durable reader, the first time from the oldest that is kept,
	// waiting up to wait; then ErrEmpty. It is delivered again until Ack or Term. It reads any copy, as Follow does.
	FollowBuckets(ctx context.Context, reader string, wait time.Duration) (Delivery, error)
	// Notify adds a notice on the subject buckets.<from>, for a store without a connection of its own, and to tell one again. A
	// message told again is kept again.
	Notify(ctx context.Context, from string, message []byte) error
}

// Receipt says where a fact was stored.
type Receipt struct {
	Sequence  uint64
	Duplicate bool
}

// Query selects facts. Zero values match everything; From and Until are sequences, Until exclusive, 0 for no bound.
type Query struct {
	Kinds    []Kind
	Pipeline string
	Run      string
	From     uint64
	Until    uint64
	Follow   bool // go on with new facts until ctx ends
}

// Message is what came over the wire, untouched.
type Message struct {
	Stream   string              `json:"stream" jsonschema:"required"`
	Sequence uint64              `json:"sequence" jsonschema:"required,minimum=0"`
	Subject  string              `json:"subject" jsonschema:"required"`
	Stored   time.Time           `json:"stored"`
	Header   map[string][]string `json:"header,omitempty"`
	Body     []byte              `json:"body" jsonschema:"required"`
	Cut      *Cut                `json:"cut,omitempty" jsonschema:"description=Set where a dead letter had no room for the whole body"`
}

// Recorded is a message of the log and the fact in it.
type Recorded struct {
	Message Message
	Event   Event
	Err     error // why Message holds no valid fact, nil if it does
}

// EventDelivery is one fact, or what stands where a fact should, handed to one reader.
type EventDelivery interface {
	Delivery
	Recorded() Recorded
}

// Delivery is one message handed to one reader. Exactly one of Ack, Nak and Term settles it; if none is called, or
// the process dies, it is delivered again.
type Delivery interface {
	Message() Message
	// Deliveries is how often the message has been handed to a reader of that name, this time included. It is a lower bound: a bus that
	// was restored may count anew.
	Deliveries() int
	// Ack acknowledges, and waits for the bus to confirm it.
	Ack(ctx context.Context) error
	// Nak hands it back, to be delivered again after delay.
	Nak(ctx context.Context, delay time.Duration) error
	// Term dead-letters the message with its reason, then takes it off its queue.
	Term(ctx context.Context, reason DeadReason) error
}

// Claim is one job under a lease. The lease is a register entry of its own, because a bus that redelivers does not fence.
type Claim interface {
	// Job returns the job, or an *Invalid if the message holds none; then only Term makes sense.
	Job() (Job, error)
	Message() Message
	// Attempt says which try this is. It was counted in the lease's entry before Claim returned.
	Attempt() Attempt
	// KeepAlive runs work and keeps the lease alive meanwhile. The ctx that work gets is cancelled with cause ErrLeaseLost
	// as soon as the lease can't be proved ours on the monotonic clock, a margin before it runs out, and with cause
	// ErrCancelled, the lease still ours, once the job is cancelled. (Not if Attempt.Cancelled says so from the start: then to
	// see to that is the work.) KeepAlive returns what work returned, or ErrLeaseLost. work must return soon after its ctx ends.
	KeepAlive(ctx context.Context, work func(context.Context) error) error
	// Prove returns ErrLeaseLost unless the lease is provably ours at this moment. It asks nobody. Work calls it right before
	// each effect on bus or store: a process that was frozen may go on before anything has told it that its ctx is over.
	Prove() error
	// Ack, Nak and Term as for Delivery; each first proves the lease and returns ErrLeaseLost without touching the
	// bus if it is not ours. cause counts the failed attempt in the lease's entry, where why stands for people.
	Ack(ctx context.Context) error
	Nak(ctx context.Context, delay time.Duration, cause FailureKind, why string) error
	Term(ctx context.Context, reason DeadReason) error
}

// Attempt identifies one try at a job.
type Attempt struct {
	ID       string              `json:"id"`             // unique: names the folder its blobs go to
	Number   int                 `json:"number"`         // from 1
	Failures map[FailureKind]int `json:"failures"`       // earlier attempts that ended, by cause; died with the worker: unavailable
	Lost     int                 `json:"lost,omitempty"` // earlier attempts that nobody released: their worker died, as far as is known

	Cancelled bool     `json:"cancelled,omitempty"` // when it was taken: it is there to tell that, and to do no work
	GivenUp   *GivenUp `json:"given_up,omitempty"`  // by an earlier attempt, which may have died before it had told that: it is there to do so
}

// DeadReason says why a message can never be handled.
type DeadReason struct {
	Kind    FailureKind `json:"kind" jsonschema:"required"`
	Message string      `json:"message" jsonschema:"required"`
	Field   string      `json:"field,omitempty"` // JSON path of the bad field, if that is what it was
}

// DeadLetter is a message that can never be handled, verbatim, with the facts that led to it.
type DeadLetter struct {
	Message  Message    `json:"message" jsonschema:"required"`
	Reason   DeadReason `json:"reason" jsonschema:"required"`
	Causes   []Message  `json:"causes,omitempty"` // for a job: the facts it was made from
	Sequence uint64     `json:"-"`                // its own place in DEAD
	Stored   time.Time  `json:"-"`
}

// Progress is one report of a running job.
type Progress struct {
	Job      string             `json:"job"`
	Pipeline string             `json:"pipeline"`
	Run      string             `json:"run"`
	Attempt  string             `json:"attempt"`
	Phase    string             `json:"phase"` // staging, training, evaluating, checking, publishing
	Step     int                `json:"step,omitempty"`
	Steps    int                `json:"steps,omitempty"` // how many there will be, 0 if not known
	Metrics  map[string]float64 `json:"metrics,omitempty"`
	Time     time.Time          `json:"time"`
	Log      *LogPart           `json:"log,omitempty"` // a report of what was printed, and of nothing else; Watch yields none
}

// Entry is one value of a register, as the leader of its bucket had it.
type Entry struct {
	Key      string
	Value    []byte
	Revision uint64
	Written  time.Time // by the clock of the server that led the bucket then

	Deleted bool // of Watch and History alone: the key is gone
}

// Copy is one value of a register as some server had it, which may be older than what is there.
// It is a type of its own so that nothing irrevocable is decided on one: a compare-and-swap that
// replaces it fails if it is old, and what else follows from it has to be true of every later value
// too. To decide more, Get the key.
type Copy Entry

// KV is a map in which a write says what it replaces. Keys are escaped as needed by the bus,
// reversibly.
//
// Get and Revision are answered by the leader of the bucket: they see every write that was
// acknowledged before the call, with two exceptions. After ErrConflict, Get may return for a moment
// what the caller knew before, because the write that won is still being replicated: the loop that
// tries again waits in between (Pause) and does not take the old value for the outcome. And a leader
// that has lost the other servers answers from its copy until it notices, some seconds later; it
// can't acknowledge writes in that time. Sync rules that out. All, History and Watch read any copy,
// which may lack the caller's own writes.
type KV interface {
	Get(ctx context.Context, key string) (Entry, error)                                    // ErrNotFound
	Create(ctx context.Context, key string, value []byte) (revision uint64, err error)     // ErrConflict if it is there
	Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) // ErrConflict
	Revision(ctx context.Context, key string, revision uint64) (Entry, error)              // an older value, where kept
	Delete(ctx context.Context, key string, revision uint64) error                         // ErrConflict
	// Sync makes the Gets and Revisions that follow linearizable: they see every write that was
	// acknowledged before Sync was called. It costs a replicated write. It is for decisions that
	// follow from the absence of an entry, or of a change, where no write of the caller's own would
	// be refused.
	Sync(ctx context.Context) error
	// History yields copies of all values that a key has had and the bucket keeps, deletions among them, the oldest first; nothing for a
	// key that never was. It reads any copy of the bucket, which may lack the newest values. Only RegisterPipelines keeps older ones.
	History(ctx context.Context, key string) iter.Seq2[Copy, error]
	// All yields a copy of the newest value of every key. The copies may be of several moments.
	All(ctx context.Context) iter.Seq2[Copy, error]
	// Watch yields a copy of the newest value of every key, deletions among them, then a Copy without Revision, which says that these
	// were all, then each write and each deletion as it comes, until ctx ends. Of several quick writes of one key the older ones may be
	// left out. Nothing is yielded out of order.
	Watch(ctx context.Context) iter.Seq2[Copy, error]
}
