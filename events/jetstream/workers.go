package jetstream

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/stoker-ml/stoker/events"
)

// ReportWorker implements events.WorkerFeed. It waits for no answer: stream WORKERS keeps the last
// message of each subject in memory for events.WorkerKept, if it has a leader.
func (b *Bus) ReportWorker(ctx context.Context, w events.WorkerStatus) error {
	body, err := events.EncodeWorker(w)
	if err != nil {
		return err
	}
	subject := events.WorkerSubject(w)
	if err := b.beats.refusal(b.refusals, subject); err != nil {
		return fmt.Errorf("report worker %s: %w", w.ID, err)
	}
	if err := b.nc.Publish(subject, body); err != nil {
		return fmt.Errorf("report worker %s: %w", w.ID, b.explain(ctx, err))
	}
	return nil
}

// beats remembers the refusals of heartbeats, which arrive after ReportWorker has returned.
type beats struct {
	mu    sync.Mutex
	heard map[string]context.Context // by subject: ended by its refusal
}

// refusal returns the refusal of the last heartbeat on subject, once.
func (s *beats) refusal(refusals *refusals, subject string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	heard := s.heard[subject]
	if heard == nil {
		if s.heard == nil {
			s.heard = map[string]context.Context{}
		}
		s.heard[subject], _ = refusals.wait(context.Background(), subject)
		return nil
	}
	if heard.Err() == nil {
		return nil
	}
	delete(s.heard, subject)
	return context.Cause(heard)
}

// Workers implements events.WorkerFeed. With follow it listens to heartbeats themselves: a follower
// sees workers also while stream WORKERS has no leader, or was lost by a server's restart.
func (b *Bus) Workers(ctx context.Context, follow bool) iter.Seq2[events.WorkerHeartbeat, error] {
	return func(yield func(events.WorkerHeartbeat, error) bool) {
		var err error
		if follow {
			err = b.followWorkers(ctx, yield)
		} else {
			_, err = b.keptWorkers(ctx, yield)
		}
		if err != nil && !(follow && ctx.Err() != nil) {
			yield(events.WorkerHeartbeat{}, fmt.Errorf("list workers: %w", err))
		}
	}
}

// followWorkers subscribes before it reads what is kept, so that it misses no heartbeat.
func (b *Bus) followWorkers(ctx context.Context, yield func(events.WorkerHeartbeat, error) bool) error {
	ctx, done := b.untilClosed(ctx)
	defer done()
	ctx, expected := b.refusals.expect(ctx, events.WorkersFilter)
	defer expected()
	sub, err := b.nc.SubscribeSync(events.WorkersFilter)
	if err == nil {
		defer func() { _ = sub.Unsubscribe() }() // the connection may be gone, and it with it
		err = b.flush(ctx)
	}
	if err != nil {
		return b.explain(ctx, err)
	}
	more, err := b.keptWorkers(ctx, yield)
	if err != nil && !errors.Is(err, events.ErrNotFound) && !errors.Is(err, events.ErrUnavailable) {
		return err
	}
	for more = more && yield(events.WorkerHeartbeat{}, nil); more; {
		msg, err := sub.NextMsgWithContext(ctx)
		if errors.Is(err, nats.ErrSlowConsumer) {
			continue // some were lost, which is allowed
		}
		if err != nil {
			return b.explain(ctx, err)
		}
		if w, err := events.DecodeWorker(msg.Subject, msg.Data); err == nil {
			more = yield(events.WorkerHeartbeat{WorkerStatus: w, Heard: b.opts.Now()}, nil)
		}
	}
	return nil
}

// keptWorkers yields the heartbeats that the stream keeps; more is false if the reader wants no
// more.
func (b *Bus) keptWorkers(ctx context.Context, yield func(events.WorkerHeartbeat, error) bool) (more bool, err error) {
	ahead, err := b.serverClock(ctx, events.StreamWorkers)
	if err != nil {
		return true, err
	}
	scan := scan{bus: b, stream: events.StreamWorkers, filters: []string{events.WorkersFilter}, next: 1}
	for message, err := range scan.messages(ctx) {
		if err != nil {
			return true, b.explain(ctx, err)
		}
		w, err := events.DecodeWorker(message.Subject, message.Body)
		if err == nil && !yield(events.WorkerHeartbeat{WorkerStatus: w, Heard: message.Stored.Add(-ahead)}, nil) {
			return false, nil
		}
	}
	return true, nil
}

// serverClock returns how far the clock of a stream's leader is ahead of ours.
func (b *Bus) serverClock(ctx context.Context, stream string) (time.Duration, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, errNoAnswer)
	defer cancel()
	asked := b.opts.Now()
	found, err := b.js.Stream(ctx, stream)
	if err != nil {
		return 0, forgotten(b.explain(ctx, err), stream)
	}
	now := b.opts.Now()
	at := found.CachedInfo().TimeStamp
	if at.IsZero() {
		return 0, nil
	}
	return at.Sub(asked.Add(now.Sub(asked) / 2)), nil
}
