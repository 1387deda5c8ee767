package events

import (
	"context"
	"time"
)

// Listeners hear of facts and of dead letters as they come, to tell somebody outside of them.
//
// A listener is known by its name, and hears what comes after it first listened, in the order in which it came, one at a time: as long
// as a message is not settled nobody who listens under that name is handed another one, across restarts too. What one listener makes of
// a message is nothing to any other, and nothing to the dispatcher. Both methods read any copy, as Log.Follow does.
type Listeners interface {
	// Listen takes the next fact of one of the kinds, or of any if there are none, waiting up to wait; then ErrEmpty. It is delivered
	// again until Ack or Term. A listener that comes back with other kinds goes on from where it is; whether it hears of
	// what it had passed over is left open.
	Listen(ctx context.Context, listener string, kinds []Kind, wait time.Duration) (EventDelivery, error)
	// ListenDead is Listen for dead letters. Messages that a foreign client took off their queue are among them, once.
	ListenDead(ctx context.Context, listener string, wait time.Duration) (DeadLetterDelivery, error)
}

// DeadLetterDelivery is one dead letter, handed to one listener.
type DeadLetterDelivery interface {
	Delivery
	DeadLetter() DeadLetter
}
