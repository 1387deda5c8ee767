package studies

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
)

// The pauses between two tries to write while the bus is away.
const (
	shortPause = 50 * time.Millisecond
	longPause  = 2 * time.Second
)

// Write appends what plan says, which is asked again whenever someone else was first. An empty entry says that there is nothing to write.
// An answer may be lost: then plan finds in the study what it said before. It goes on until the bus has answered or ctx ends.
func (l *Log) Write(ctx context.Context, plan func(tune.Study) (tune.Entry, error)) error {
	for pause := shortPause; ; pause = min(2*pause, longPause) {
		l.mu.Lock()
		now, err := l.state, l.broken
		l.mu.Unlock()
		if err != nil {
			return err
		}
		e, err := plan(now.Study)
		if err != nil || e.Empty() {
			return err
		}
		err = l.append(ctx, now, e)
		if errors.Is(err, events.ErrConflict) {
			read := l.readOn(ctx)
			if read == nil && l.State().After != now.After {
				pause = shortPause
				continue
			}
			err = cmp.Or(read, err) // or who answers reads has nothing new yet, on a stream of several servers
		}
		if err == nil || hopeless(err) || ctx.Err() != nil {
			return l.away(err)
		}
		l.log.Debug("a study's log can't be written to yet", "study", l.name.ID, "error", err)
		rest(ctx, pause)
		_ = l.readOn(ctx) // what may have been written is found, or its place is refused again
	}
}

// append writes one entry behind those that were read. Its time is the bus's to say: until the log is read from its beginning, ours of it is
// near enough.
func (l *Log) append(ctx context.Context, before State, e tune.Entry) error {
	body, err := e.Bytes()
	if err != nil {
		return events.Fail(events.FailureModule, fmt.Errorf("study %s: %w", l.name.ID, err))
	}
	e.Stored = l.Time()
	study := before.Study
	if err := study.Apply(e); err != nil {
		return events.Fail(events.FailureCrash, fmt.Errorf("study %s: %w", l.name.ID, err))
	}
	if err := l.prove(); err != nil {
		return err
	}
	sequence, err := l.bus.AppendStudy(ctx, l.name, body, before.After)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state.After == before.After { // else it was read before its writing was confirmed
		l.state.Study, l.state.After = study, sequence
		l.moved()
	}
	return nil
}

// hopeless says whether writing again comes to nothing.
func hopeless(err error) bool {
	_, ours := errors.AsType[*events.Failure](err)
	for _, kind := range []error{events.ErrTooLarge, events.ErrRefused, events.ErrClosed, events.ErrLeaseLost} {
		ours = ours || errors.Is(err, kind)
	}
	return ours
}

// away says that the world is at fault, unless it was said already whose fault it is.
func (l *Log) away(err error) error {
	if _, said := errors.AsType[*events.Failure](err); err == nil || said || errors.Is(err, events.ErrLeaseLost) {
		return err
	}
	return events.Fail(events.FailureUnavailable, fmt.Errorf("log of study %s: %w", l.name.ID, err))
}
