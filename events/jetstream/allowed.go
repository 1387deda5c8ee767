package jetstream

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/stoker-ml/stoker/events"
)

// MayTakeJobs says whether the bus would hand out jobs of some functions and classes to us: nil, or why not, an events.ErrRefused where it
// is for the key. To see how a queue is, as lags do, is permitted to more than may take from it. Nothing is taken.
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

// MayLookAtEvents returns nil if the leader of the log answers this client, else the reason. Every publisher of events may ask.
func (b *Bus) MayLookAtEvents(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, errNoAnswer)
	defer cancel()
	_, err := b.js.Stream(ctx, events.StreamEvents)
	if err != nil {
		return fmt.Errorf("ask for stream %s: %w", events.StreamEvents, b.explain(ctx, err))
	}
	return nil
}

// mayPull asks a consumer with a request that can't be read. The server compares permissions first, and the consumer's own answer to it is
// that it is a bad one: whoever gets that may pull, from a consumer that is there.
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
