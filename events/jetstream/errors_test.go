package jetstream

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func TestWhichErrorsSayThatTheBusDoesNotAnswer(t *testing.T) {
	t.Parallel()
	for want, errs := range map[bool][]error{
		true: {
			nats.ErrNoResponders, nats.ErrTimeout, nats.ErrDisconnected, jetstream.ErrNoStreamResponse, context.DeadlineExceeded,
			&jetstream.APIError{Code: 503, ErrorCode: jetstream.ErrorCode(10008), Description: "JetStream system temporarily unavailable"},
			// The error of a watch.
			&nats.APIError{Code: 503, ErrorCode: 10008, Description: "JetStream system temporarily unavailable"},
		},
		false: {
			errors.New("some error"), jetstream.ErrMsgNotFound, nats.ErrPermissionViolation, context.Canceled,
			&jetstream.APIError{Code: 404, ErrorCode: jetstream.JSErrCodeStreamNotFound},
		},
	} {
		for _, err := range errs {
			if got := isAway(fmt.Errorf("publish: %w", err)); got != want {
				t.Errorf("%v: the bus is away: %t, want %t", err, got, want)
			}
		}
	}
}
