package jetstream

import (
	"context"
	"errors"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// lagging is a copy of a stream that gets its message only after some requests for it.
type lagging struct {
	jetstream.Stream
	asked, behind int
}

func (s *lagging) GetLastMsgForSubject(context.Context, string) (*jetstream.RawStreamMsg, error) {
	if s.asked++; s.asked <= s.behind {
		return nil, jetstream.ErrMsgNotFound
	}
	return &jetstream.RawStreamMsg{Sequence: 7}, nil
}

func TestACopyThatIsBehindIsAskedAgain(t *testing.T) {
	t.Parallel()
	msg, err := lastOf(t.Context(), &lagging{behind: 3}, "events.x")
	if err != nil || msg.Sequence != 7 {
		t.Fatalf("got %v, %v", msg, err)
	}
}

func TestAReadOfALaggingCopyEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errNoAnswer)
	if _, err := lastOf(ctx, &lagging{behind: 1000}, "events.x"); !errors.Is(err, errNoAnswer) {
		t.Fatalf("got %v", err)
	}
}
