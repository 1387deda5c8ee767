package jetstream

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
)

// Cancel implements events.JobQueue.
func (b *Bus) Cancel(ctx context.Context, job string) error {
	if err := events.CheckJobID("job", job); err != nil {
		return err
	}
	for pause := (events.Pause{}); ; {
		message, err := b.queued(ctx, job)
		if err == nil && message != 0 {
			err = b.cancel(ctx, events.Escape(job), job, message)
		}
		if errors.Is(err, events.ErrConflict) { // most likely a heartbeat
			if err = pause.Wait(ctx); err == nil {
				continue
			}
		}
		if err != nil {
			return fmt.Errorf("cancel job %s: %w", job, err)
		}
		return nil
	}
}

// cancel marks the lease of a message of the job. If the message has left the queue by then, its
// worker may have removed the lease before; then nobody else would remove the mark, so cancel does.
func (b *Bus) cancel(ctx context.Context, key, job string, message uint64) error {
	entry, lease, err := b.readLease(ctx, key)
	if err != nil {
		return err
	}
	if lease = lease.For(message); lease.Cancelled {
		return nil
	}
	lease.Cancelled = true
	revision, err := b.writeLease(ctx, key, lease, entry)
	if err != nil || lease.Holder != "" {
		return err
	}
	if now, err := b.queued(ctx, job); err != nil || now == message {
		return err
	}
	err = b.leases.Purge(ctx, key, jetstream.LastRevision(revision), jetstream.PurgeTTL(markerKept))
	if err = b.explain(ctx, err); errors.Is(err, events.ErrConflict) {
		return nil // another attempt claimed it
	}
	return err
}

// Queued implements events.JobQueue.
func (b *Bus) Queued(ctx context.Context, job string) (events.Message, error) {
	if err := events.CheckJobID("job", job); err != nil {
		return events.Message{}, err
	}
	var raw *jetstream.RawStreamMsg
	stream, err := b.js.Stream(ctx, events.StreamJobs)
	if err == nil {
		raw, err = stream.GetLastMsgForSubject(ctx, events.JobFilterAny(job))
	}
	if err != nil {
		return events.Message{}, fmt.Errorf("look for job %s on the queue: %w", job, b.explain(ctx, err))
	}
	return messageOf(events.StreamJobs, raw), nil
}

// queued returns the sequence of a job's message on the queue, 0 if there is none.
func (b *Bus) queued(ctx context.Context, job string) (uint64, error) {
	message, err := b.Queued(ctx, job)
	if errors.Is(err, events.ErrNotFound) {
		return 0, nil
	}
	return message.Sequence, err
}
