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

// Log is a study's log with its reader and writer: Now returns the study as of the last read. An
// entry that is written must follow what was read; otherwise the bus refuses it. Methods may be
// called by several goroutines at once.
type Log struct {
	bus   events.StudyLog
	name  events.Study
	prove func() error
	log   *slog.Logger

	mu      sync.Mutex
	state   State
	changed chan struct{} // closed, and replaced, with every entry
	broken  error         // an entry of a newer version: the log can't be read beyond it
	clock   clock
}

// Options configure a writer.
type Options struct {
	Prove  func() error // called before each write, which its error prevents; nil prevents none
	Logger *slog.Logger // logs what is retried and what the bus has lost; default: discards
}

// Open reads a study's log to its end. A study that has not been begun has no entries.
func Open(ctx context.Context, bus events.StudyLog, name events.Study, o Options) (*Log, error) {
	l := &Log{
		bus: bus, name: name, prove: o.Prove, log: o.Logger,
		state: State{Name: name}, changed: make(chan struct{}),
	}
	if l.prove == nil {
		l.prove = func() error { return nil }
	}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	_, err := l.reread(ctx)
	return l, err
}

// Name returns the study's name.
func (l *Log) Name() events.Study { return l.name }

// Now returns the study as of the last read.
func (l *Log) Now() tune.Study { return l.State().Study }

// State returns the same with the log's name and position.
func (l *Log) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}

// Watch returns the study as of the last read, and a channel that is closed when it has changed.
func (l *Log) Watch() (tune.Study, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state.Study, l.changed
}

// current returns the state, or why the log can't be read further.
func (l *Log) current() (State, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state, l.broken
}

// lagTime is how long entries that were read before, and are not in the log now, are assumed to be
// on their way to the server that answers. After that they are lost.
const lagTime = 5 * time.Second

// catchUp reads what is new. If the log ends before what was read of it, it reads again for up to
// lagTime, and then assumes that the rest is lost and reads the log from its beginning.
func (l *Log) catchUp(ctx context.Context) error {
	var pause events.Pause
	for until := time.Now().Add(lagTime); ; {
		switch err := l.readOn(ctx); {
		case !errors.Is(err, errBehind):
			return err
		case !time.Now().Before(until):
			_, err := l.reread(ctx)
			return err
		}
		if err := pause.Wait(ctx); err != nil {
			return l.failure(err)
		}
	}
}

// readOn reads what is new, and reads everything anew if the log no longer has what was read. It
// returns errBehind, and changes nothing, if the log ends before that.
func (l *Log) readOn(ctx context.Context) error {
	for {
		state, err := l.current()
		if err != nil {
			return err
		}
		next, passed, err := state.advance(ctx, l.bus, l.hear)
		switch {
		case errors.Is(err, errBehind):
			return err
		case errors.Is(err, errLost) || errors.Is(err, tune.ErrUnchained) || errors.Is(err, tune.ErrNewer):
			_, err := l.reread(ctx)
			return err
		case err != nil:
			return l.failure(err)
		}
		if l.adopt(next, passed) {
			return nil
		}
	}
}

// adopt continues from a state that was read, if it has everything that the follower has read
// meanwhile.
func (l *Log) adopt(next State, passed map[string]bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.state
	if !passed[before.newest] {
		return false
	}
	if l.state = next; !next.same(before) {
		l.report(before, next, true)
		l.moved()
	}
	return true
}

// enter adds an entry, if it is new. It returns tune.ErrUnchained, and changes nothing, if the
// entry doesn't continue what was read.
func (l *Log) enter(entry events.StudyEntry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.broken != nil:
		return l.broken
	case entry.Sequence <= l.state.After:
		return nil
	}
	l.clock.hear(entry.Stored)
	next := l.state
	switch err := next.enter(entry); {
	case errors.Is(err, tune.ErrUnchained):
		return err
	case errors.Is(err, tune.ErrNewer):
		l.broken = l.newer(err)
		return l.broken
	case err != nil:
		l.log.Warn("entry of a study's log contradicts the study and is ignored", "study", l.name.ID, "sequence", entry.Sequence, "error", err)
	}
	l.state = next
	l.moved()
	return nil
}

// newer returns the error for an entry of a newer version: the job is for a newer worker.
func (l *Log) newer(err error) error {
	return events.Fail(events.FailureUnavailable, fmt.Errorf("study %s: %w", l.name.ID, err))
}

// moved wakes the callers of Watch.
func (l *Log) moved() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// reread reads the log from its beginning, and replaces the state. It returns the hashes of the
// entries that continue the log, and logs what was lost.
func (l *Log) reread(ctx context.Context) (map[string]bool, error) {
	for {
		before, _ := l.current()
		state, chain, err := read(ctx, l.bus, l.name, l.hear)
		if err != nil && !errors.Is(err, tune.ErrNewer) {
			return nil, l.failure(err)
		}
		if l.replace(before, state, chain, err) {
			_, err := l.current()
			return chain, err
		}
	}
}

func (l *Log) hear(stored time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clock.hear(stored)
}

// replace replaces one state by another, and returns false if the former is no longer the log's
// state: then the latter may lack what the follower has read meanwhile. newer is why the log can't
// be read beyond it.
func (l *Log) replace(before, state State, chain map[string]bool, newer error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.state.same(before) {
		return false
	}
	l.report(before, state, chain[before.Study.Head()])
	l.state = state
	if newer != nil {
		l.broken = l.newer(newer)
	}
	l.moved()
	return true
}

// report logs what was lost of what was read before, and which entries have no effect.
func (l *Log) report(before, state State, holds bool) {
	if !holds {
		l.log.Warn("the bus has lost acknowledged entries of a study's log; the study continues from the remaining log, and trials begun "+
			"in the lost entries count as not begun", "study", l.name.ID, "sequence", before.After, "newest", state.After,
			"trials", len(before.Study.Trials), "trials_left", len(state.Study.Trials))
	}
	if skipped, dropped := state.Study.Skipped, state.Study.Dropped; skipped > before.Study.Skipped || dropped > before.Study.Dropped {
		l.log.Warn("entries of a study's log ignored", "study", l.name.ID, "newest", state.After, "skipped", skipped, "dropped", dropped)
	}
}

// followTime is how long a follower that lost the log waits before it reads on.
const followTime = time.Second

// Follow reads new entries as they arrive, until ctx ends. The log may be written to meanwhile.
func (l *Log) Follow(ctx context.Context) {
	for ctx.Err() == nil {
		err := l.followOn(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			err = l.catchUp(ctx)
		}
		if err != nil {
			l.log.Debug("log of a study not followed", "study", l.name.ID, "error", err)
			rest(ctx, followTime)
		}
	}
}

// errEnded reports that the bus has ended a read that follows the log.
var errEnded = errors.New("the log ended while it was read")

// followOn enters new entries as they arrive, for checkTime.
func (l *Log) followOn(ctx context.Context) error {
	following, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	state, err := l.current()
	if err != nil {
		return err
	}
	for entry, err := range l.bus.ReadStudy(following, l.name, state.After, true) {
		if err == nil {
			err = l.enter(entry)
		}
		if errors.Is(err, tune.ErrUnchained) {
			_, err := l.reread(ctx) // and follow from there
			return err
		}
		if err != nil && following.Err() == nil {
			return err
		}
	}
	if following.Err() == nil {
		return errEnded
	}
	return nil
}

func rest(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// clock is the bus's time, by which studies end, as far as it is known from the times of entries.
// The bus's time was at least an entry's time when that arrived, and exactly that for an entry that
// arrives when it is written, such as a participant's own. So no study ends too early, and none
// with an active participant too late. This machine's own clock may be wrong, and may jump; it only
// measures intervals.
type clock struct{ stored, came time.Time }

func (c *clock) hear(stored time.Time) {
	if now := time.Now(); c.came.IsZero() || stored.After(c.at(now)) {
		*c = clock{stored, now}
	}
}

func (c *clock) at(now time.Time) time.Time {
	if c.came.IsZero() {
		return now
	}
	return c.stored.Add(now.Sub(c.came))
}

// Time returns the time by the bus's clock, now or shortly before.
func (l *Log) Time() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.clock.at(time.Now())
}
