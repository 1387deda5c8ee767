package jetstream

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
)

// explain converts an error of the bus to those of package events. ctx is that of the request.
//
// nats.ErrConnectionClosed does not mean a closed bus: a flush that waits while the connection
// breaks ends with it, and the client reconnects.
func (b *Bus) explain(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case err == nil:
		return nil
	case errors.Is(err, events.ErrRefused):
		return err
	case errors.Is(cause, events.ErrRefused):
		return cause
	case cause != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)):
		return cause
	case b.closing.Err() != nil, b.nc.IsClosed():
		return fmt.Errorf("%w: %w", events.ErrClosed, err)
	case errors.Is(err, nats.ErrMaxPayload), hasCode(err, jetstream.JSErrCodeStreamMessageExceedsMaximum):
		return fmt.Errorf("%w: %w", events.ErrTooLarge, err)
	case errors.Is(err, nats.ErrPermissionViolation), errors.Is(err, nats.ErrAuthorization):
		return fmt.Errorf("%w: %w", events.ErrRefused, err)
	case wrongSequence(err):
		return fmt.Errorf("%w: %w", events.ErrConflict, err)
	case errors.Is(err, jetstream.ErrMsgNotFound), errors.Is(err, jetstream.ErrKeyNotFound):
		return fmt.Errorf("%w: %w", events.ErrNotFound, err)
	case isAway(err) && !errors.Is(err, events.ErrUnavailable):
		return fmt.Errorf("%w: %w", events.ErrUnavailable, err)
	}
	return err
}

// isAway reports whether an error is that of a bus without connection, leader or quorum.
// context.DeadlineExceeded is that of nats.go, which waits some seconds for an answer if the
// request's own ctx has no deadline; explain has handled a ctx that has ended.
func isAway(err error) bool {
	for _, away := range []error{
		nats.ErrNoResponders, nats.ErrTimeout, nats.ErrConnectionClosed, nats.ErrDisconnected, nats.ErrConnectionReconnecting, nats.ErrNoServers,
		context.DeadlineExceeded, nats.ErrReconnectBufExceeded, nats.ErrStaleConnection, jetstream.ErrNoStreamResponse, jetstream.ErrNoHeartbeat,
	} {
		if errors.Is(err, away) {
			return true
		}
	}
	const unavailable = 503
	api, ok := errors.AsType[*jetstream.APIError](err)
	// Watches of a KV bucket subscribe with the client's older interface.
	older, isOlder := errors.AsType[*nats.APIError](err)
	return ok && api.Code == unavailable || isOlder && older.Code == unavailable
}

// sized adds the size of the message to an explained error.
func (b *Bus) sized(err error, bytes int) error {
	if !errors.Is(err, events.ErrTooLarge) {
		return err
	}
	return fmt.Errorf("%d bytes, where a message may have %d: %w", bytes, b.nc.MaxPayload(), err)
}

// wrongSequence reports whether a write failed because of another message. Replicated streams have
// a separate error code for it.
func wrongSequence(err error) bool {
	return hasCode(err, jetstream.JSErrCodeStreamWrongLastSequence) || hasCode(err, jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

func hasCode(err error, code jetstream.ErrorCode) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && api.ErrorCode == code
}
