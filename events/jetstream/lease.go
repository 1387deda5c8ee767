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

// held is a lease that we wrote last, as far as we know.
type held struct {
	box      *Letterbox
	key      string
	lease    events.Lease
	revision uint64
	until    instant // it is provably ours before this, on the monotonic clock
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

// races is how often taking a lease is tried again after someone else was quicker. Each time they have moved on; more than a
// few in a row mean that the job is theirs.
const races = 3

// lease takes the lease of a job. If another attempt may still hold it, busy says when to look again.
func (b *Letterbox) lease(ctx context.Context, job string) (l *held, busy time.Duration, err error) {
	key := events.Escape(job)
	for range races {
		entry, lease, err := b.readLease(ctx, key)
		if err != nil {
			return nil, 0, err
		}
		if busy := b.busy(entry, lease); busy > 0 {
			return nil, busy, nil
		}
		l, err = b.writeLease(ctx, key, lease.Taken(b.opts.NewID()), entry)
		if !errors.Is(err, events.ErrConflict) {
			return l, 0, err
		}
	}
	return nil, b.terms.Beat(), nil
}

// readLease returns a nil entry for a job that has no lease yet.
func (b *Letterbox) readLease(ctx context.Context, key string) (jetstream.KeyValueEntry, events.Lease, error) {
	entry, err := b.leases.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, events.Lease{}, nil
	}
	if err != nil {
		return nil, events.Lease{}, fmt.Errorf("read lease: %w", b.explain(ctx, err))
	}
	var lease events.Lease
	if err := json.Unmarshal(entry.Value(), &lease); err != nil {
		return nil, events.Lease{}, fmt.Errorf("read lease, revision %d: %w", entry.Revision(), err)
	}
	return entry, lease, nil
}

// busy is how long someone else's lease has to be waited for, at most a heartbeat at a time; 0 if it is free or has been
// seen unchanged for its whole length.
func (b *Letterbox) busy(entry jetstream.KeyValueEntry, lease events.Lease) time.Duration {
	if entry == nil || lease.Holder == "" {
		return 0
	}
	age := b.sightings.age(entry.Key(), entry.Revision())
	if age >= b.terms.Length {
		return 0
	}
	return min(b.terms.Length-age, b.terms.Beat())
}

// writeLease replaces entry, or creates the key if that is nil. ErrConflict if someone else was quicker.
func (b *Letterbox) writeLease(ctx context.Context, key string, lease events.Lease, entry jetstream.KeyValueEntry) (*held, error) {
	value, err := json.Marshal(lease)
	if err != nil {
		return nil, fmt.Errorf("encode lease: %w", err)
	}
	sent := b.opts.Now()
	var revision uint64
	if entry == nil {
		revision, err = b.leases.Create(ctx, key, value)
	} else {
		revision, err = b.leases.Update(ctx, key, value, entry.Revision())
	}
	if err != nil {
		return nil, fmt.Errorf("write lease: %w", b.explain(ctx, err))
	}
	h := &held{box: b, key: key, lease: lease, revision: revision}
	h.until.set(b.terms.Until(sent))
	return h, nil
}

// Cancel implements events.Queue.
func (b *Letterbox) Cancel(ctx context.Context, job string) error {
	key := events.Escape(job)
	for {
		entry, lease, err := b.readLease(ctx, key)
		if err != nil || lease.Cancelled {
			return err
		}
		lease.Cancelled = true
		_, err = b.writeLease(ctx, key, lease, entry)
		if !errors.Is(err, events.ErrConflict) {
			return err
		}
	}
}

// left is for how long the lease is still provably ours.
func (h *held) left() time.Duration { return h.until.get().Sub(h.box.opts.Now()) }

// prove returns ErrLeaseLost unless the lease is provably ours.
func (h *held) prove() error {
	if left := h.left(); left <= 0 {
		return fmt.Errorf("%w: not confirmed for %s", events.ErrLeaseLost, h.box.terms.Length-h.box.terms.Margin-left)
	}
	return nil
}

// beat confirms the lease. ErrLeaseLost if another attempt has it; any other error may pass.
func (h *held) beat(ctx context.Context) error {
	sent := h.box.opts.Now()
	if err := h.replace(ctx, h.lease.Beaten()); err != nil {
		return err
	}
	h.until.set(h.box.terms.Until(sent))
	return nil
}

// release frees the lease, and counts how the attempt ended.
func (h *held) release(ctx context.Context, cause events.FailureKind) error {
	err := h.replace(ctx, h.lease.Released(cause))
	if errors.Is(err, errAgain) { // cancelled meanwhile
		err = h.replace(ctx, h.lease.Released(cause))
	}
	return err
}

func (h *held) replace(ctx context.Context, next events.Lease) error {
	value, err := json.Marshal(next)
	if err != nil {
		return fmt.Errorf("encode lease: %w", err)
	}
	revision, err := h.box.leases.Update(ctx, h.key, value, h.revision)
	if err = h.box.explain(ctx, err); errors.Is(err, events.ErrConflict) {
		return h.reread(ctx)
	}
	if err != nil {
		return fmt.Errorf("write lease: %w", err)
	}
	h.lease, h.revision = next, revision
	return nil
}

// errAgain says that a write of ours had arrived although its answer was lost: the next one is from there.
var errAgain = errors.New("an earlier write's answer was lost")

// reread tells another attempt's write from one of our own that was thought to have failed.
func (h *held) reread(ctx context.Context) error {
	entry, lease, err := h.box.readLease(ctx, h.key)
	if err != nil {
		return err
	}
	if entry == nil || lease.Holder != h.lease.Holder {
		return fmt.Errorf("%w: attempt %d has it", events.ErrLeaseLost, lease.Number)
	}
	h.lease, h.revision = lease, entry.Revision()
	return errAgain
}

// drop removes the lease of a job that has left the queue. What is left of the key goes after a while.
func (h *held) drop(ctx context.Context) error {
	const kept = time.Hour
	err := h.box.leases.Purge(ctx, h.key, jetstream.LastRevision(h.revision), jetstream.PurgeTTL(kept))
	if err != nil {
		return fmt.Errorf("remove lease: %w", h.box.explain(ctx, err))
	}
	return nil
}
