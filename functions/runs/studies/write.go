package studies

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
)

// errUnwritten reports that an acknowledged entry is not in the log, or that all readers skip it.
var errUnwritten = errors.New("the bus acknowledged the entry, but the log does not hold it")

// Write appends the entry that plan returns, and returns once the entry was read back as a part of
// the log. An empty entry means that there is nothing to write. Whenever another writer was first,
// an answer was lost, or the bus has lost entries, plan is called again with the present study: it
// finds in the study what was written before.
//
// Write retries until the bus has answered or ctx ends. It returns an error that no retry can
// avoid, such as that of an entry which is too large for the bus: that is a failure of the
// module's.
func (l *Log) Write(ctx context.Context, plan func(tune.Study) (tune.Entry, error)) error {
	for pause := (events.Pause{}); ; {
		before, err := l.current()
		if err != nil {
			return err
		}
		e, err := plan(before.Study)
		if err != nil || e.Empty() {
			return err
		}
		err = l.append(ctx, before, e)
		if err == nil || hopeless(err) || ctx.Err() != nil {
			return l.failure(err)
		}
		if !errors.Is(err, events.ErrConflict) {
			l.log.Debug("log of a study not writable yet; retrying", "study", l.name.ID, "error", err)
		}
		if caughtUp := l.catchUp(ctx); caughtUp == nil && !l.State().same(before) {
			pause = events.Pause{}
			continue
		}
		if pause.Wait(ctx) != nil {
			return l.failure(err)
		}
	}
}

// append writes one entry after those that were read, and reads it back: a bus that has lost
// entries may accept one after an entry that its writer has never read.
func (l *Log) append(ctx context.Context, before State, e tune.Entry) error {
	e.Previous = before.Study.Head()
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
	written, err := l.confirm(ctx, before, tune.HashOf(body))
	if err == nil && !written {
		l.log.Warn("the bus has lost an acknowledged entry of a study's log; planning again from the remaining log",
			"study", l.name.ID, "sequence", sequence, "newest", l.State().After)
		return errUnwritten
	}
	return err
}

// confirm reads an acknowledged entry back, and reports whether it is a part of the log. It reads
// from the base of the state that the entry was to follow: the entries that the follower has read
// since aren't known to have been in the log together.
func (l *Log) confirm(ctx context.Context, before State, hash string) (bool, error) {
	var pause events.Pause
	for until := time.Now().Add(lagTime); ; {
		next, passed, err := before.advance(ctx, l.bus, l.hear)
		switch {
		case err == nil && l.adopt(next, passed):
			return passed[hash], nil
		case err == nil:
			return passed[hash], l.catchUp(ctx)
		case errors.Is(err, errBehind) && time.Now().Before(until):
		case !errors.Is(err, errBehind) && !errors.Is(err, errLost) && !errors.Is(err, tune.ErrUnchained) && !errors.Is(err, tune.ErrNewer):
			return false, err
		default:
			chain, err := l.reread(ctx)
			return chain[hash], err
		}
		if err := pause.Wait(ctx); err != nil {
			return false, err
		}
	}
}

// hopeless reports whether writing again is useless.
func hopeless(err error) bool {
	_, ours := errors.AsType[*events.Failure](err)
	_, invalid := errors.AsType[*events.Invalid](err)
	for _, kind := range []error{events.ErrTooLarge, events.ErrRefused, events.ErrClosed, events.ErrLeaseLost} {
		ours = ours || errors.Is(err, kind)
	}
	return ours || invalid
}

// failure classifies an error, unless it is classified already. Most errors are the bus's, and the
// job is retried for as long as it takes. An entry that the bus never accepts would be refused
// again: the module's results don't fit into it.
func (l *Log) failure(err error) error {
	if _, said := errors.AsType[*events.Failure](err); err == nil || said || errors.Is(err, events.ErrLeaseLost) {
		return err
	}
	kind := events.FailureUnavailable
	switch _, invalid := errors.AsType[*events.Invalid](err); {
	case invalid:
		kind = events.FailureCrash
	case errors.Is(err, events.ErrTooLarge):
		kind = events.FailureModule
		err = fmt.Errorf("%w: let the module report fewer or shorter metrics and parameters, or raise max_payload of the NATS servers", err)
	}
	return events.Fail(kind, fmt.Errorf("log of study %s: %w", l.name.ID, err))
}

// Copy writes the log that a state of it was folded from, as the function Copy does, once the bus
// shows all of it: while the log ends before the state it reads again, for up to lagTime. After
// that the state may be discarded as lost, and the log is read anew. The error is of kind
// unavailable: what was written is not the whole log, and the job is retried.
func (l *Log) Copy(ctx context.Context, state State, w io.Writer) error {
	var pause events.Pause
	for until := time.Now().Add(lagTime); ; {
		var whole bytes.Buffer
		err := Copy(ctx, l.bus, state, &whole)
		if err == nil {
			_, err = w.Write(whole.Bytes())
			return events.Fail(events.FailureUnavailable, err)
		}
		if !errors.Is(err, errBehind) || !time.Now().Before(until) || pause.Wait(ctx) != nil {
			_ = l.catchUp(ctx) // discards the state, if it is lost
			return events.Fail(events.FailureUnavailable, err)
		}
	}
}

// ErrAmbiguous reports a name that several studies have.
var ErrAmbiguous = errors.New("not the name of one study")

// ErrFinished reports a study that has ended already: its State says why.
var ErrFinished = errors.New("already finished")

// stopPatience is how long a bus that is away is retried.
const stopPatience = 10 * time.Second

// Stop requests the end of a study: no trial is begun any more, running ones are stopped, and the
// best result so far counts. The participants of the study follow its log. Stop returns the study
// with its end; ErrFinished if it has ended, events.ErrNotFound if it was never begun.
func Stop(ctx context.Context, bus events.StudyLog, name events.Study, message string) (State, error) {
	l, err := Open(ctx, bus, name, Options{})
	if err != nil {
		return State{Name: name}, err
	}
	ctx, cancel := context.WithTimeout(ctx, stopPatience)
	defer cancel()
	err = l.Write(ctx, func(study tune.Study) (e tune.Entry, err error) {
		switch {
		case study.Entries == 0:
			return e, fmt.Errorf("study %s of pipeline %s: %w", name.ID, name.Pipeline, events.ErrNotFound)
		case study.Finished != nil:
			return e, fmt.Errorf("study %s of pipeline %s: %w (%s)", name.ID, name.Pipeline, ErrFinished, study.Finished.Why)
		}
		e.Finished = &tune.Finished{Why: tune.Stopped, Message: message}
		return e, nil
	})
	return l.State(), err
}
