package studies

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
)

// Log is a study's log as one reader and writer has it: Now is what it came to when it was read last, and every writing says what it is about
// to follow, so that nothing is ever written that the log has left behind. Methods may be called from several goroutines.
type Log struct {
	bus   events.Studies
	name  events.Study
	prove func() error
	log   *slog.Logger

	mu      sync.Mutex
	state   State
	changed chan struct{} // closed, and replaced, with every entry
	broken  error         // an entry that is none, or of a newer version: the log can't be gone on with here
	clock   clock
}

// Options are what a writer may say.
type Options struct {
	Prove  func() error // asked before each writing, which it forbids by an error; nil forbids none
	Logger *slog.Logger // of what is tried again; default: discards
}

// Open reads a study's log to its end. One that nobody has begun has no entries.
func Open(ctx context.Context, bus events.Studies, name events.Study, o Options) (*Log, error) {
	l := &Log{bus: bus, name: name, prove: o.Prove, log: o.Logger, state: State{Name: name}, changed: make(chan struct{})}
	if l.prove == nil {
		l.prove = func() error { return nil }
	}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	return l, l.readOn(ctx)
}

// Name is the study's.
func (l *Log) Name() events.Study { return l.name }

// Now is where the log stands.
func (l *Log) Now() tune.Study { return l.State().Study }

// State is the same with the log's name and place.
func (l *Log) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}

// Watch is where the log stands, and what is closed when it has moved on.
func (l *Log) Watch() (tune.Study, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state.Study, l.changed
}

// readOn reads what is new.
func (l *Log) readOn(ctx context.Context) error {
	for entry, err := range l.bus.ReadStudy(ctx, l.name, l.State().After, false) {
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

// Follow reads what is new as it comes, until ctx ends. The log may as well be written to meanwhile.
func (l *Log) Follow(ctx context.Context) {
	for ctx.Err() == nil {
		for entry, err := range l.bus.ReadStudy(ctx, l.name, l.State().After, true) {
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
func (l *Log) enter(entry events.StudyEntry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clock.hear(entry.Stored)
	if entry.Sequence <= l.state.After || l.broken != nil {
		return
	}
	if err := l.state.enter(entry); err != nil {
		l.broken = events.Fail(blame(err), fmt.Errorf("study %s: %w", l.name.ID, err))
		return
	}
	l.moved()
}

// blame says what an entry that can't be read means to who works on the study. A newer version's is for a newer worker: the job goes back.
func blame(err error) events.FailureKind {
	if errors.Is(err, tune.ErrNewer) {
		return events.FailureUnavailable
	}
	return events.FailureCrash
}

// moved tells those who watch.
func (l *Log) moved() {
	close(l.changed)
	l.changed = make(chan struct{})
}

func rest(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
