package tuner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
)

// Bus is what studies need of a letterbox.
type Bus interface {
	events.Studies
	Offer(ctx context.Context, job events.Job) error
	Queued(ctx context.Context, job string) (events.Message, error)
}

// ledger is a study's log as one job reads and writes it. What it holds is what the log came to when it was read last: every writing says
// what it is about to follow, so nothing is ever written that the log has left behind. Methods may be called from several goroutines.
type ledger struct {
	bus   Bus
	name  events.Study
	prove func() error // that the job is ours, before each effect
	log   *slog.Logger

	mu      sync.Mutex
	study   tune.Study
	after   uint64        // the sequence of the newest entry in study
	changed chan struct{} // closed, and replaced, with every entry
	broken  error         // an entry that is none: the log can't be gone on with
	clock   clock
}

// openLedger reads a study's log to its end.
func openLedger(ctx context.Context, l *ledger) (*ledger, error) {
	l.changed = make(chan struct{})
	return l, l.readOn(ctx)
}

// now is where the log stands.
func (l *ledger) now() tune.Study {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.study
}

// watch is where the log stands, and what is closed when it has moved on.
func (l *ledger) watch() (tune.Study, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.study, l.changed
}

// readOn reads what is new.
func (l *ledger) readOn(ctx context.Context) error {
	l.mu.Lock()
	after := l.after
	l.mu.Unlock()
	for entry, err := range l.bus.ReadStudy(ctx, l.name, after, false) {
		if err != nil {
			return l.away(err)
		}
		l.enter(entry)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.broken
}

// followTime is how long a follower waits that lost the log before it looks again.
const followTime = time.Second

// follow reads what is new as it comes, until ctx ends. The log may as well be read on meanwhile.
func (l *ledger) follow(ctx context.Context) {
	for ctx.Err() == nil {
		l.mu.Lock()
		after := l.after
		l.mu.Unlock()
		for entry, err := range l.bus.ReadStudy(ctx, l.name, after, true) {
			if err != nil {
				l.log.Debug("a study's log is not followed", "study", l.name.ID, "error", err)
				break
			}
			l.enter(entry)
		}
		rest(ctx, followTime)
	}
}

// enter adds what was read, if it is new.
func (l *ledger) enter(entry events.StudyEntry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clock.hear(entry.Stored)
	if entry.Sequence <= l.after || l.broken != nil {
		return
	}
	if err := l.study.Enter(entry.Body, entry.Stored); err != nil {
		l.broken = events.Fail(events.FailureCrash, fmt.Errorf("log of study %s, entry %d: %w", l.name.ID, entry.Sequence, err))
		return
	}
	l.move(entry.Sequence)
}

// at is the sequence of the newest entry that was read.
func (l *ledger) at() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.after
}

func (l *ledger) move(to uint64) {
	l.after = to
	close(l.changed)
	l.changed = make(chan struct{})
}

// The pauses between two tries to write while the bus is away.
const (
	shortPause = 50 * time.Millisecond
	longPause  = 2 * time.Second
)

// write appends what plan says, which is asked again whenever someone else was first. An empty entry says that there is nothing to write.
// An answer may be lost: then plan finds in the study what it said before. It goes on until the bus has answered or ctx ends.
func (l *ledger) write(ctx context.Context, plan func(tune.Study) (tune.Entry, error)) error {
	for pause := shortPause; ; pause = min(2*pause, longPause) {
		l.mu.Lock()
		study, after, err := l.study, l.after, l.broken
		l.mu.Unlock()
		if err != nil {
			return err
		}
		e, err := plan(study)
		if err != nil || e.Empty() {
			return err
		}
		err = l.append(ctx, study, e, after)
		if errors.Is(err, events.ErrConflict) {
			read := l.readOn(ctx)
			if read == nil && l.at() != after {
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
func (l *ledger) append(ctx context.Context, study tune.Study, e tune.Entry, after uint64) error {
	body, err := e.Bytes()
	if err != nil {
		return events.Fail(events.FailureModule, fmt.Errorf("study %s: %w", l.name.ID, err))
	}
	e.Stored = l.time()
	if err := study.Apply(e); err != nil {
		return events.Fail(events.FailureCrash, fmt.Errorf("study %s: %w", l.name.ID, err))
	}
	if err := l.prove(); err != nil {
		return err
	}
	sequence, err := l.bus.AppendStudy(ctx, l.name, body, after)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.after == after { // else it was read before its writing was confirmed
		l.study = study
		l.move(sequence)
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
func (l *ledger) away(err error) error {
	if _, said := errors.AsType[*events.Failure](err); err == nil || said || errors.Is(err, events.ErrLeaseLost) {
		return err
	}
	return events.Fail(events.FailureUnavailable, fmt.Errorf("log of study %s: %w", l.name.ID, err))
}

func rest(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
