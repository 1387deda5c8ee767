package events

import (
	"context"
	"math/rand/v2"
	"time"
)

// Pause spaces the tries of a compare-and-swap loop. The zero value is ready to use; a loop has
// one of its own.
//
// A write that was refused with ErrConflict has lost to another one that may still be on its way
// through the bus's servers: until it has arrived, Get returns what the loser knew already. Trying
// again at once would ask the bus as fast as it can answer.
type Pause struct{ next time.Duration }

const (
	firstPause   = time.Millisecond
	longestPause = 250 * time.Millisecond
)

// Wait waits a millisecond, and about twice as long with each further call, up to a quarter of a
// second. It returns the cause of ctx if that ends before.
func (p *Pause) Wait(ctx context.Context) error {
	p.next = min(max(2*p.next, firstPause), longestPause)
	timer := time.NewTimer(p.next/2 + rand.N(p.next))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

const (
	firstRedelivery   = time.Second
	longestRedelivery = 5 * time.Minute
	longestAway       = 5 * time.Second
)

// RedeliveryDelay is after how long a message is to be delivered again that could not be handled,
// by how often it has been delivered: a second, and twice as long each time, up to five minutes, give
// or take a quarter. A message that never will be handled then costs next to nothing, however many
// there are.
func RedeliveryDelay(deliveries int) time.Duration {
	return redeliveryDelay(deliveries, longestRedelivery)
}

// RedeliveryDelayAway is RedeliveryDelay for a message that could not be handled because the bus or a
// store did not answer. It grows to five seconds only: the answer may come at any time.
func RedeliveryDelayAway(deliveries int) time.Duration {
	return redeliveryDelay(deliveries, longestAway)
}

func redeliveryDelay(deliveries int, longest time.Duration) time.Duration {
	delay := longest
	if doublings := max(deliveries, 1) - 1; doublings < 9 {
		delay = min(firstRedelivery<<doublings, longest)
	}
	return delay*3/4 + rand.N(delay/2)
}
