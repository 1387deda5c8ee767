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
