package jetstream

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/stoker-ml/stoker/events"
)

// MayTakeJobs returns nil if the bus would deliver jobs of these functions and classes to this
// client, else the reason, an events.ErrRefused if permissions are missing. More clients may read
// the state of a queue, as lags do, than may fetch from it. It fetches nothing.
func (b *Bus) MayTakeJobs(ctx context.Context, functions []events.Function, classes []string) error {
	for _, function := range functions {
		for _, class := range classes {
			if err := b.mayPull(ctx, jobConsumer(function, class)); err != nil {
				return err
			}
		}
	}
	return nil
}

// MayFollowEvents is MayTakeJobs for a durable reader of events.
func (b *Bus) MayFollowEvents(ctx context.Context, reader string) error {
	return b.mayPull(ctx, eventConsumer(reader))
}

// MayFollowBuckets is MayTakeJobs for a durable reader of bucket notifications.
func (b *Bus) MayFollowBuckets(ctx context.Context, reader string) error {
	return b.mayPull(ctx, bucketConsumer(reader))
}

// MayLookAtEvents returns nil if the leader of the log answers this client, else the reason. Every
// publisher of events may call it.
func (b *Bus) MayLookAtEvents(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, errNoAnswer)
	defer cancel()
	_, err := b.js.Stream(ctx, events.StreamEvents)
	if err != nil {
		return fmt.Errorf("ask for stream %s: %w", events.StreamEvents, b.explain(ctx, err))
	}
	return nil
}

// mayPull sends a consumer a request that can't be parsed. The server checks permissions first, and
// the consumer's answer is that the request is bad: a client that gets it may pull, and the
// consumer exists.
func (b *Bus) mayPull(ctx context.Context, d ConsumerDefinition) error {
	const unreadable, badRequest = "{", "400"
	if _, err := b.reach(ctx, d); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, errNoAnswer)
	defer cancel()
	subject := nextOf(d)
	answer, err := answered(ctx, b.refusals, func(ctx context.Context) (*nats.Msg, error) {
		return b.nc.RequestWithContext(ctx, b.opts.inDomain(subject), []byte(unreadable))
	}, subject)
	if err != nil {
		b.consumers.forget(d)
		return fmt.Errorf("ask consumer %s of %s: %w", d.Name, d.Stream, b.explain(ctx, err))
	}
	if status := answer.Header.Get("Status"); status != badRequest {
		return fmt.Errorf("ask consumer %s of %s: status %q %s, expected %s", d.Name, d.Stream, status, answer.Header.Get("Description"), badRequest)
	}
	return nil
}
