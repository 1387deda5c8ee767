package events

import (
	"context"
	"math/rand/v2"
	"time"
)

// Pause spaces the tries of a compare-and-swap loop. The zero value is ready to use; each loop
// needs its own.
//
// A write that failed with ErrConflict has lost to another one that may still be in replication:
// until it has arrived, Get returns the value that the loser had already. Retrying at once would
// load the bus as fast as it can answer.
type Pause struct{ next time.Duration }

const (
	firstPause   = time.Millisecond
	longestPause = 250 * time.Millisecond
)

// Wait waits a millisecond, and about twice as long with each further call, up to a quarter of a
// second. It returns the cause of ctx if that ends first.
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

// RedeliveryDelay returns the delay before the redelivery of a message that could not be handled,
// by its number of deliveries: a second, doubled each time, up to five minutes, with a jitter of a
// quarter. Any number of messages that can never be handled then cost next to nothing.
func RedeliveryDelay(deliveries int) time.Duration {
	return redeliveryDelay(deliveries, longestRedelivery)
}

// RedeliveryDelayAway is RedeliveryDelay for a message that could not be handled because the bus or
// a store did not answer. It only grows to five seconds, since the service may return at any time.
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
