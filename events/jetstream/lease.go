package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
)

// held is a lease that we wrote last, as far as we know. One goroutine at a time uses it: that of KeepAlive, then whoever settles.
// until and mark alone are for others too.
type held struct {
	bus   *Bus
	key   string
	lease events.Lease
	mark  *mark
	until instant // it is provably ours before this, on the monotonic clock
}

// instant is a time that the heart sets while work reads it.
type instant struct {
	mu sync.Mutex
	at time.Time
}

func (i *instant) set(at time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.at = at
}

func (i *instant) get() time.Time {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.at
}

// races is how often a lease is tried to be written when someone else was quicker. Each time they have moved on; more than a few
// in a row mean that the job is theirs.
const races = 3

// lease takes the lease of a job for one message of its. If another attempt may still hold it, busy says when to look again.
func (b *Bus) lease(ctx context.Context, job string, message uint64) (l *held, busy time.Duration, err error) {
	key := events.Escape(job)
	l, err = b.hold(ctx, key, events.Lease{}.For(message).Taken(b.opts.NewID()), events.Entry{}) // mostly there is none
	if !errors.Is(err, events.ErrConflict) {
		return l, 0, err
	}
	for range races {
		entry, lease, err := b.readLease(ctx, key)
		if err != nil {
			return nil, 0, err
		}
		if busy := b.busy(entry, lease); busy > 0 {
			return nil, busy, nil
		}
		l, err = b.hold(ctx, key, lease.For(message).Taken(b.opts.NewID()), entry)
		if !errors.Is(err, events.ErrConflict) {
			return l, 0, err
		}
	}
	return nil, b.terms.HeartbeatInterval(), nil
}

// hold writes a lease that is to be ours.
func (b *Bus) hold(ctx context.Context, key string, lease events.Lease, entry events.Entry) (*held, error) {
	sent := b.opts.Now()
	revision, err := b.writeLease(ctx, key, lease, entry)
	if err != nil {
		return nil, err
	}
	h := &held{bus: b, key: key, lease: lease, mark: b.leaseAges.watch(key, revision)}
	h.until.set(b.terms.Until(sent))
	return h, nil
}

// readLease returns an entry without revision for a job that has no lease yet. One that can't be read is nobody's that we know: its
// job must not be lost for it.
func (b *Bus) readLease(ctx context.Context, key string) (events.Entry, events.Lease, error) {
	entry, err := b.leaderEntry(ctx, events.KVLeases, key)
	if errors.Is(err, events.ErrNotFound) {
		return events.Entry{}, events.Lease{}, nil
	}
	if err != nil {
		return events.Entry{}, events.Lease{}, fmt.Errorf("read lease: %w", err)
	}
	lease, err := events.DecodeLease(entry)
	if err != nil {
		b.log.Error("lease is waited out, and replaced", "error", err)
	}
	return entry, lease, nil
}

// busy is how long someone else's lease has to be waited for, at most a heartbeat at a time; 0 if it is free or has been
// seen unchanged for its whole length. A worker that has just started waits that long for a job whose worker is dead, even if it died
// yesterday: the entry's own time is by another clock, and trusting that could give a job to two.
func (b *Bus) busy(entry events.Entry, lease events.Lease) time.Duration {
	if entry.Revision == 0 || lease.Holder == "" {
		return 0
	}
	age := b.leaseAges.age(entry.Key, entry.Revision)
	if age >= b.terms.Length {
		return 0
	}
	return min(b.terms.Length-age, b.terms.HeartbeatInterval())
}

// writeLease replaces entry, or creates the key if that has no revision. ErrConflict if someone else was quicker.
func (b *Bus) writeLease(ctx context.Context, key string, lease events.Lease, entry events.Entry) (revision uint64, err error) {
	value, err := json.Marshal(lease)
	if err != nil {
		return 0, fmt.Errorf("encode lease: %w", err)
	}
	if entry.Revision == 0 {
		revision, err = b.createEntry(ctx, events.KVLeases, key, value)
	} else {
		revision, err = b.leases.Update(ctx, key, value, entry.Revision)
	}
	if err != nil {
		return 0, fmt.Errorf("write lease: %w", b.explain(ctx, err))
	}
	return revision, nil
}

// left is for how long the lease is still provably ours.
func (h *held) left() time.Duration { return h.until.get().Sub(h.bus.opts.Now()) }

// prove returns ErrLeaseLost unless the lease is provably ours.
func (h *held) prove() error {
	if left := h.left(); left <= 0 {
		return fmt.Errorf("%w: not confirmed for %s", events.ErrLeaseLost, h.bus.terms.Length-h.bus.terms.Margin-left)
	}
	return nil
}

// end gives up all that is ours of the lease in this process.
func (h *held) end() {
	h.until.set(time.Time{})
	h.bus.leaseAges.unwatch(h.key, h.mark)
}

// beat confirms the lease. ErrLeaseLost if another attempt has it; any other error may pass.
func (h *held) beat(ctx context.Context) error {
	sent := h.bus.opts.Now()
	if err := h.replace(ctx, func() events.Lease { return h.lease.Renewed() }); err != nil {
		return err
	}
	h.until.set(h.bus.terms.Until(sent))
	return nil
}

// release frees the lease, and counts how the attempt ended.
func (h *held) release(ctx context.Context, cause events.FailureKind, why string) error {
	return h.replace(ctx, func() events.Lease { return h.lease.Released(cause, why) })
}

// markerKept is for how long the bus remembers that a lease was removed, so that who watches hears of it.
const markerKept = time.Hour

// drop removes the lease of a job that has left the queue. What is left of the key goes after a while.
func (h *held) drop(ctx context.Context) error {
	err := h.swap(ctx, func(revision uint64) (uint64, error) {
		return 0, h.bus.leases.Purge(ctx, h.key, jetstream.LastRevision(revision), jetstream.PurgeTTL(markerKept))
	})
	if err != nil {
		return fmt.Errorf("remove lease: %w", err)
	}
	return nil
}

// replace writes what next makes of h.lease, which may have been read anew by the time that next is called.
func (h *held) replace(ctx context.Context, next func() events.Lease) error {
	return h.swap(ctx, func(revision uint64) (uint64, error) {
		lease := next()
		value, err := json.Marshal(lease)
		if err != nil {
			return 0, fmt.Errorf("encode lease: %w", err)
		}
		if revision, err = h.bus.leases.Update(ctx, h.key, value, revision); err != nil {
			return 0, fmt.Errorf("write lease: %w", err)
		}
		h.lease = lease
		return revision, nil
	})
}

// swap calls write with the revision that the lease has as far as we know. A conflict may only mean that an answer to an earlier
// write of ours was lost, or that the job was cancelled: while the lease is ours, it is tried again from what is there.
func (h *held) swap(ctx context.Context, write func(revision uint64) (uint64, error)) error {
	var pause events.Pause
	for range races {
		revision, err := write(h.mark.writing())
		h.mark.wrote(revision)
		if err = h.bus.explain(ctx, err); !errors.Is(err, events.ErrConflict) {
			return err
		}
		if err := h.reread(ctx); err != nil {
			return err
		}
		if err := pause.Wait(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("write lease: %w %d times", events.ErrConflict, races)
}

// reread distinguishes another attempt's write from one of our own that seemed to have failed, and from a cancellation.
func (h *held) reread(ctx context.Context) error {
	entry, lease, err := h.bus.readLease(ctx, h.key)
	if err != nil {
		return err
	}
	if entry.Revision == 0 || lease.Holder != h.lease.Holder || lease.Message != h.lease.Message {
		h.end()
		return fmt.Errorf("%w: attempt %d has it", events.ErrLeaseLost, lease.Number)
	}
	h.lease = lease
	h.mark.wrote(entry.Revision)
	return nil
}
