package submit

import (
	"context"
	"errors"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

// Ignored returns a *NoEffect if an event that was stored at sequence has no effect on its run,
// because another one came first. nil says that it has one, or that no dispatcher has come to it
// yet: it is to be asked again then. The join is read from the leader of its bucket, and only goes
// forward: a reason that is given once stays true.
func Ignored(ctx context.Context, bus events.Bus, event events.Event, sequence uint64) error {
	pinned, ok := join.EventOf(events.Recorded{Event: event, Message: events.Message{Sequence: sequence}})
	if !ok {
		return nil
	}
	j, err := dispatch.ReadJoin(ctx, bus, event.Pipeline, event.Run)
	if errors.Is(err, events.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	spec, err := dispatch.Spec(ctx, bus, event.Pipeline)
	if err != nil && !errors.Is(err, events.ErrNotFound) {
		return err
	}
	if why := j.Ignored(spec, pinned); why != "" {
		return &NoEffect{Event: event, Stored: sequence, Why: why}
	}
	return nil
}
