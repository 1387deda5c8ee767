package submit

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	"github.com/stoker-ml/stoker/events"
)

// Checker checks the events that a bridge publishes for others. It is safe for concurrent use; a
// nil Checker checks nothing.
type Checker struct {
	bus    events.Bus
	anyway bool
	logger *slog.Logger
	blind  atomic.Bool // the credentials don't permit the reads
}

// NewChecker returns a checker. With anyway it only warns of events without effect. A nil logger
// logs nothing.
func NewChecker(bus events.Bus, anyway bool, logger *slog.Logger) *Checker {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Checker{bus: bus, anyway: anyway, logger: logger}
}

// Check returns *NoEffect for an event that would do nothing if it were published now, as the
// function Check does, and what the publisher of another one may not expect. With anyway an event
// without effect is no error.
//
// Credentials that permit publishing, and no reads of pipelines and runs, are those of an upstream:
// nothing is checked then, and a warning in the log says so once.
func (c *Checker) Check(ctx context.Context, event events.Event, anyway bool) (note string, err error) {
	if c == nil || c.blind.Load() {
		return "", nil
	}
	effect, err := Check(ctx, c.bus, event)
	none, ignored := errors.AsType[*NoEffect](err)
	switch {
	case errors.Is(err, events.ErrRefused):
		if !c.blind.Swap(true) {
			c.logger.WarnContext(ctx, "events are published without a check of what they will do: these credentials permit no reads of pipelines and runs",
				"error", err)
		}
		return "", nil
	case ignored && (anyway || c.anyway):
		note, err = "published all the same, and ignored unless that changes: "+none.Why, nil
	case err != nil:
		return "", err
	default:
		note = effect.Note
	}
	if note != "" {
		c.logger.WarnContext(ctx, "event has less effect than its publisher may expect", "kind", event.Data.Kind(), "pipeline", event.Pipeline,
			"run", event.Run, "event", event.ID, "note", note)
	}
	return note, nil
}
