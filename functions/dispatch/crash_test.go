package dispatch_test

import (
	"context"
	"errors"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stoker-ml/stoker/events"
)

var errCrashed = errors.New("this process has crashed")

// crashing is the bus of a process that dies at one of its effects: right before or right after it,
// so that the process does not learn whether the effect happened. After that every call fails.
type crashing struct {
	events.Bus

	mu      sync.Mutex
	left    int          // effects until it dies; negative: never
	calm    *atomic.Bool // no more crashes once it is true; may be nil
	after   bool         // the last effect still happens
	crashed chan struct{}
	offers  func(events.Job)
}

func newCrashing(bus events.Bus, left int, after bool, offers func(events.Job)) *crashing {
	return &crashing{Bus: bus, left: left, after: after, crashed: make(chan struct{}), offers: offers}
}

func (c *crashing) dead() bool {
	select {
	case <-c.crashed:
		return true
	default:
		return false
	}
}

// effect does something that other processes can see, unless the process has died before.
func (c *crashing) effect(do func() error) error {
	c.mu.Lock()
	if c.dead() {
		c.mu.Unlock()
		return errCrashed
	}
	if c.calm == nil || !c.calm.Load() {
		c.left--
	}
	dies := c.left == 0
	if dies {
		close(c.crashed)
	}
	c.mu.Unlock()
	if dies && !c.after {
		return errCrashed
	}
	err := do()
	if dies {
		return errCrashed
	}
	return err
}

func (c *crashing) look() error {
	if c.dead() {
		return errCrashed
	}
	return nil
}

func (c *crashing) Publish(ctx context.Context, f events.Event) (r events.Receipt, err error) {
	err = c.effect(func() (err error) { r, err = c.Bus.Publish(ctx, f); return err })
	return r, err
}

func (c *crashing) Enqueue(ctx context.Context, j events.Job) error {
	return c.effect(func() error { c.offers(j); return c.Bus.Enqueue(ctx, j) })
}

func (c *crashing) Cancel(ctx context.Context, job string) error {
	return c.effect(func() error { return c.Bus.Cancel(ctx, job) })
}

func (c *crashing) DeadLetter(ctx context.Context, d events.DeadLetter) error {
	return c.effect(func() error { return c.Bus.DeadLetter(ctx, d) })
}

func (c *crashing) Read(ctx context.Context, q events.Query) iter.Seq2[events.Recorded, error] {
	if err := c.look(); err != nil {
		return func(yield func(events.Recorded, error) bool) { yield(events.Recorded{}, err) }
	}
	return c.Bus.Read(ctx, q)
}

func (c *crashing) Follow(ctx context.Context, reader string, wait time.Duration) (events.EventDelivery, error) {
	if err := c.look(); err != nil {
		return nil, err
	}
	delivery, err := c.Bus.Follow(ctx, reader, wait)
	return crashingDelivery{delivery, c}, err
}

func (c *crashing) KV(ctx context.Context, name string) (events.KV, error) {
	kv, err := c.Bus.KV(ctx, name)
	return crashingKV{kv, c}, err
}

type crashingDelivery struct {
	events.EventDelivery
	c *crashing
}

func (d crashingDelivery) Ack(ctx context.Context) error {
	return d.c.effect(func() error { return d.EventDelivery.Ack(ctx) })
}

func (d crashingDelivery) Nak(ctx context.Context, delay time.Duration) error {
	return d.c.effect(func() error { return d.EventDelivery.Nak(ctx, delay) })
}

func (d crashingDelivery) Term(ctx context.Context, reason events.DeadReason) error {
	return d.c.effect(func() error { return d.EventDelivery.Term(ctx, reason) })
}

type crashingKV struct {
	events.KV
	c *crashing
}

func (r crashingKV) Get(ctx context.Context, key string) (events.Entry, error) {
	if err := r.c.look(); err != nil {
		return events.Entry{}, err
	}
	return r.KV.Get(ctx, key)
}

func (r crashingKV) Create(ctx context.Context, key string, value []byte) (revision uint64, err error) {
	err = r.c.effect(func() (err error) { revision, err = r.KV.Create(ctx, key, value); return err })
	return revision, err
}

func (r crashingKV) Update(ctx context.Context, key string, value []byte, at uint64) (revision uint64, err error) {
	err = r.c.effect(func() (err error) { revision, err = r.KV.Update(ctx, key, value, at); return err })
	return revision, err
}

func (r crashingKV) Delete(ctx context.Context, key string, at uint64) error {
	return r.c.effect(func() error { return r.KV.Delete(ctx, key, at) })
}
