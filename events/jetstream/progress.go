package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/nats-io/nats.go"

	"github.com/stoker-ml/stoker/events"
)

// Report implements events.Bus. It waits for no answer.
func (b *Bus) Report(ctx context.Context, p events.Progress) error {
	body, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encode progress of job %s: %w", p.Job, err)
	}
	if err := b.nc.Publish(events.ProgressSubject(p), body); err != nil {
		return fmt.Errorf("report progress of job %s: %w", p.Job, b.explain(ctx, err))
	}
	return nil
}

// Watch implements events.Bus. It listens from the call on.
func (b *Bus) Watch(ctx context.Context, pipeline, run string) iter.Seq2[events.Progress, error] {
	subject := events.ProgressFilter(pipeline, run)
	listening, done := b.refusals.expect(ctx, subject)
	sub, err := b.nc.SubscribeSync(subject)
	if err == nil {
		err = b.flush(ctx)
	}
	if err != nil {
		done()
		return failing[events.Progress](fmt.Errorf("watch progress: %w", b.explain(ctx, err)))
	}
	// The connection may be gone, and the subscription with it.
	stop := context.AfterFunc(ctx, func() { _ = sub.Unsubscribe() })
	return func(yield func(events.Progress, error) bool) {
		defer func() { stop(); done(); _ = sub.Unsubscribe() }()
		bounded, unbind := b.untilClosed(listening)
		defer unbind()
		for {
			msg, err := sub.NextMsgWithContext(bounded)
			switch {
			case ctx.Err() != nil:
				return
			case errors.Is(err, nats.ErrSlowConsumer):
				continue // some were lost, which is allowed
			case err != nil:
				yield(events.Progress{}, fmt.Errorf("watch progress: %w", b.explain(bounded, err)))
				return
			}
			var p events.Progress
			if json.Unmarshal(msg.Data, &p) == nil && !yield(p, nil) {
				return
			}
		}
	}
}

// failing yields err and ends.
func failing[T any](err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		yield(none, err)
	}
}
