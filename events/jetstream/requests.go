package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/stoker-ml/stoker/events"
)

// replies stands between the subject of a request and the token that is unique to its reply.
const replies = ".reply."

// Request implements events.RequestReply by core NATS. The reply's subject is below the request's
// instead of in the client's inbox: a process that serves requests would otherwise need the
// permission to publish to the inboxes of its peers, where the server's replies arrive too.
func (b *Bus) Request(ctx context.Context, subject string, body []byte) ([]byte, error) {
	if len(body) > events.RequestBytes {
		return nil, fmt.Errorf("request %s: %d bytes, where a request may have %d: %w", subject, len(body), events.RequestBytes, events.ErrTooLarge)
	}
	ctx, unbind := b.untilClosed(ctx)
	defer unbind()
	ctx, done := b.refusals.expect(ctx, subject)
	defer done()
	msg, err := b.ask(ctx, subject, body)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return nil, fmt.Errorf("request %s: %w", subject, events.ErrNoResponders)
	case err != nil:
		return nil, fmt.Errorf("request %s: %w", subject, b.sized(b.explain(ctx, err), len(body)))
	}
	return msg.Data, nil
}

func (b *Bus) ask(ctx context.Context, subject string, body []byte) (*nats.Msg, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	reply := subject + replies + nats.NewInbox()[len(nats.InboxPrefix):]
	sub, err := b.nc.SubscribeSync(reply)
	if err != nil {
		return nil, err
	}
	// An error is that of a connection that is gone, and the subscription with it.
	defer func() { _ = sub.Unsubscribe() }()
	if err := b.nc.PublishRequest(subject, reply, body); err != nil {
		return nil, err
	}
	return sub.NextMsgWithContext(ctx)
}

// Serve implements events.RequestReply. It replies only below subject, where Request listens: a
// client could otherwise have this process publish to any subject that it may not publish to
// itself.
func (b *Bus) Serve(ctx context.Context, subject string, handle func(body []byte) []byte) (stop func(), err error) {
	sub, err := b.subscribe(ctx, subject)
	if err != nil {
		return nil, fmt.Errorf("serve %s: %w", subject, b.explain(ctx, err))
	}
	serving, end := context.WithCancel(b.closing)
	ended := make(chan struct{})
	b.background(func(context.Context) {
		defer close(ended)
		defer func() { _ = sub.Unsubscribe() }()
		b.serve(serving, sub, handle)
	})
	return func() { end(); <-ended }, nil
}

// subscribe returns once the server has the subscription. The server refuses one before it answers
// the ping of a flush, and the client keeps that.
func (b *Bus) subscribe(ctx context.Context, subject string) (*nats.Subscription, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	sub, err := b.nc.SubscribeSync(subject)
	if err != nil {
		return nil, err
	}
	if err = b.flush(ctx); err == nil {
		err = b.deniedSubscription(subject)
	}
	if err != nil {
		_ = sub.Unsubscribe()
		return nil, err
	}
	return sub, nil
}

func (b *Bus) deniedSubscription(subject string) error {
	said := b.nc.LastError()
	if said == nil {
		return nil
	}
	if match := deniedSubscription.FindStringSubmatch(said.Error()); match == nil || match[1] != subject {
		return nil
	}
	return fmt.Errorf("%w: not permitted to subscribe to %s", events.ErrRefused, subject)
}

// serve handles requests until ctx ends or the connection is closed for good.
func (b *Bus) serve(ctx context.Context, sub *nats.Subscription, handle func(body []byte) []byte) {
	for {
		msg, err := sub.NextMsgWithContext(ctx)
		switch {
		case errors.Is(err, nats.ErrSlowConsumer):
			continue // some requests were lost, as they may be
		case err != nil:
			if ctx.Err() == nil {
				b.log.Warn("requests are no longer served", "subject", sub.Subject, "error", err)
			}
			return
		case !strings.HasPrefix(msg.Reply, sub.Subject+replies):
			continue
		}
		if reply := handle(msg.Data); reply != nil {
			if err := b.nc.Publish(msg.Reply, reply); err != nil {
				b.log.Warn("reply not sent", "subject", sub.Subject, "error", err)
			}
		}
	}
}
