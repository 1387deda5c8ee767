package events

import (
	"context"
	"iter"
	"time"
)

// EventLog is the replayable stream of events.
type EventLog interface {
	// Publish appends a valid event once. Publishing the same subject (kind, pipeline, run, id)
	// again succeeds, with Receipt.Duplicate set and the sequence of the first; if the first was
	// another event, the error is ErrConflict (see CheckRepeated). After ErrUnavailable the event
	// may or may not have been stored.
	Publish(ctx context.Context, e Event) (Receipt, error)
	// Read yields events in the order of their sequence. A message that holds no valid event is
	// yielded with its Message and an *Invalid as Recorded.Err. The error of the pair is the bus's
	// own and ends the sequence.
	//
	// The leader of the log answers: Read yields every event that was acknowledged before the call,
	// up to Until, and ends with an error if that can't be guaranteed. A leader that has lost the
	// other servers may miss the newest events for some seconds. With Query.Follow any copy
	// answers, which gets the events later.
	Read(ctx context.Context, q Query) iter.Seq2[Recorded, error]
	// Follow returns the next event that the named durable reader (functions/dispatch) has not
	// settled. It waits up to wait, then returns ErrEmpty. The event is redelivered until Ack or
	// Term. Any copy answers: an event may be in the log and not be delivered yet.
	Follow(ctx context.Context, reader string, wait time.Duration) (EventDelivery, error)
	// Delivered returns the sequence of the newest event that was delivered to the named durable
	// reader, settled or not, and 0 if none was. Later events are still to be delivered. The leader
	// of the reader answers.
	Delivered(ctx context.Context, reader string) (uint64, error)
}

// Listeners deliver events and dead letters to integrations outside of Stoker.
//
// A listener is identified by its name. It receives the messages that arrive after its first call,
// in order, one at a time: until a message is settled, no process that uses the name receives
// another one, across restarts too. Listeners do not affect each other or the dispatcher. Any copy
// answers both methods, as for EventLog.Follow.
type Listeners interface {
	// Listen returns the next event of one of the kinds, or of any kind if kinds is empty. It waits
	// up to wait, then returns ErrEmpty. The event is redelivered until Ack or Term. A listener
	// that returns with other kinds continues at its position; it may or may not receive the events
	// of those kinds that it skipped before.
	Listen(ctx context.Context, listener string, kinds []Kind, wait time.Duration) (EventDelivery, error)
	// ListenDead is Listen for dead letters. It includes, once, messages that a foreign client
	// terminated.
	ListenDead(ctx context.Context, listener string, wait time.Duration) (DeadLetterDelivery, error)
}

// Receipt is where an event was stored.
type Receipt struct {
	Sequence  uint64
	Duplicate bool
}

// Query selects events. Zero values match everything. From and Until are sequences, Until is
// exclusive, 0 means unbounded.
type Query struct {
	Kinds    []Kind
	Pipeline string
	Run      string
	From     uint64
	Until    uint64
	Follow   bool // continue with new events until ctx ends
}

// Message is a received message.
type Message struct {
	Stream   string              `json:"stream" jsonschema:"required"`
	Sequence uint64              `json:"sequence" jsonschema:"required,minimum=0"`
	Subject  string              `json:"subject" jsonschema:"required"`
	Stored   time.Time           `json:"stored"`
	Header   map[string][]string `json:"header,omitempty"`
	Body     []byte              `json:"body" jsonschema:"required"`
	Cut      *Cut                `json:"cut,omitempty" jsonschema:"description=Set where a dead letter could not hold the whole body"`
}

// Recorded is a message of the log and its event.
type Recorded struct {
	Message Message
	Event   Event
	Err     error // why Message holds no valid event; nil if it holds one
}

// Delivery is one message delivered to one reader. Exactly one of Ack, Nak and Term settles it. If
// none is called, or the process dies, the message is redelivered.
type Delivery interface {
	Message() Message
	// Deliveries returns how often the message was delivered to readers of that name, including
	// this time. It is a lower bound: a restored bus may restart the count.
	Deliveries() int
	// Ack acknowledges the message and waits until the bus confirms.
	Ack(ctx context.Context) error
	// Nak returns the message, to be redelivered after delay.
	Nak(ctx context.Context, delay time.Duration) error
	// Term dead-letters the message with its reason, then removes it from the reader's queue.
	Term(ctx context.Context, reason DeadReason) error
}

// EventDelivery is one event, or a message without a valid event, delivered to one reader.
type EventDelivery interface {
	Delivery
	Recorded() Recorded
}

// DeadLetterDelivery is one dead letter delivered to one listener.
type DeadLetterDelivery interface {
	Delivery
	DeadLetter() DeadLetter
}
