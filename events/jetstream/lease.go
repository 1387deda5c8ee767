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

// held is a lease that this process wrote last, as far as known. It is not used concurrently: by
// KeepAlive, then by the settling call. Only until and mark are shared.
type held struct {
	bus   *Bus
	key   string
	lease events.Lease
	mark  *mark
	until instant // provably held before this time, on the monotonic clock
}

// instant is a time that the heartbeat sets while work reads it.
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

// races is how often writing a lease is tried after a conflict. Each time the other writer has made
// progress; more than a few in a row mean that the job is its.
const races = 3

// lease claims the lease of a job for one of its messages. If another attempt may still hold it,
// busy is when to check again.
func (b *Bus) lease(ctx context.Context, job string, message uint64) (l *held, busy time.Duration, err error) {
	key := events.Escape(job)
	// Usually there is none.
	l, err = b.hold(ctx, key, events.Lease{}.For(message).Taken(b.opts.NewID()), events.Entry{})
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

// hold writes a lease to claim it.
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

// readLease returns an entry without revision for a job that has no lease yet. One that can't be
// read has an unknown holder: its job must not be lost because of it.
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
		b.log.Error("lease can't be read; it is replaced after it expires", "error", err)
	}
	return entry, lease, nil
}

// busy returns how long to wait for another attempt's lease, at most a heartbeat at a time; 0 if it
// is free or has been seen unchanged for its whole length. A worker that has just started waits
// that long for a job whose worker is dead, even if it died yesterday: the entry's own time is by
// another clock, and trusting it could give a job to two workers.
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

// writeLease replaces entry, or creates the key if that has no revision. It returns ErrConflict if
// another process was faster.
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

// left returns how long the lease is still provably held.
func (h *held) left() time.Duration { return h.until.get().Sub(h.bus.opts.Now()) }

// prove returns ErrLeaseLost unless the lease is provably held.
func (h *held) prove() error {
	if left := h.left(); left <= 0 {
		return fmt.Errorf("%w: not confirmed for %s", events.ErrLeaseLost, h.bus.terms.Length-h.bus.terms.Margin-left)
	}
	return nil
}

// end marks the lease as no longer held in this process.
func (h *held) end() {
	h.until.set(time.Time{})
	h.bus.leaseAges.unwatch(h.key, h.mark)
}

// beat confirms the lease. It returns ErrLeaseLost if another attempt has it; any other error may
// be transient.
func (h *held) beat(ctx context.Context) error {
	sent := h.bus.opts.Now()
	if err := h.replace(ctx, func() events.Lease { return h.lease.Renewed() }); err != nil {
		return err
	}
	h.until.set(h.bus.terms.Until(sent))
	return nil
}

// release releases the lease, and counts how the attempt ended.
func (h *held) release(ctx context.Context, cause events.FailureKind, why string) error {
	return h.replace(ctx, func() events.Lease { return h.lease.Released(cause, why) })
}

// markerKept is how long the bus remembers that a lease was removed, so that watchers are notified.
const markerKept = time.Hour

// drop removes the lease of a job that has left the queue. The marker of the key expires.
func (h *held) drop(ctx context.Context) error {
	err := h.swap(ctx, func(revision uint64) (uint64, error) {
		return 0, h.bus.leases.Purge(ctx, h.key, jetstream.LastRevision(revision), jetstream.PurgeTTL(markerKept))
	})
	if err != nil {
		return fmt.Errorf("remove lease: %w", err)
	}
	return nil
}

// replace writes the lease that next returns from h.lease, which may have been read again before
// next is called.
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

// swap calls write with the last known revision of the lease. A conflict may only mean that an
// answer to an earlier write of this process was lost, or that the job was cancelled: while the
// lease is held, it retries with the current revision.
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
	return fmt.Errorf("write lease: %w in %d attempts", events.ErrConflict, races)
}

// reread distinguishes a write of another attempt from one of our own that seemed to have failed,
// and from a cancellation.
func (h *held) reread(ctx context.Context) error {
	entry, lease, err := h.bus.readLease(ctx, h.key)
	if err != nil {
		return err
	}
	if entry.Revision == 0 || lease.Holder != h.lease.Holder || lease.Message != h.lease.Message {
		h.end()
		return fmt.Errorf("%w: attempt %d holds it", events.ErrLeaseLost, lease.Number)
	}
	h.lease = lease
	h.mark.wrote(entry.Revision)
	return nil
}
