package telemetry_test

import (
	"sync"
	"time"

	"github.com/stoker-ml/stoker/events"
)

type (
	eventsFunction = events.Function
	eventsClaim    = events.Claim
)

// clock is a clock that only advances when a test calls it.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}
