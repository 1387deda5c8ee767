package studies

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
)

// Errors of a read about what was read before.
var (
	errLost     = errors.New("the log no longer holds entries that were read before")
	errBehind   = errors.New("the log ends before entries that were read before")
	errUnstable = errors.New("the log changes while it is read")
)

// State is a study as its log implies it, up to an entry.
type State struct {
	Name  events.Study
	Study tune.Study
	// The sequence of the newest entry that was read, even of one without effect; 0: the log is
	// empty.
	After uint64

	newest string // the hash of that entry
	// An earlier state whose entries are known to have been in the log together; nil: the empty
	// one.
	base *State
}

// same reports whether two states are of the same log up to the same entry.
func (s State) same(other State) bool { return s.After == other.After && s.newest == other.newest }

// about adds the name of the study to an error.
func (s State) about(err error) error {
	return fmt.Errorf("study %s of pipeline %s: %w", s.Name.ID, s.Name.Pipeline, err)
}

// enter adds one entry. For an entry without effect it returns tune.ErrUnchained or
// tune.ErrContradiction, and the state has advanced beyond it.
func (s *State) enter(entry events.StudyEntry) error {
	err := s.Study.Enter(entry.Body, entry.Stored)
	if err != nil {
		err = fmt.Errorf("entry %d of the log: %w", entry.Sequence, err)
	}
	if !errors.Is(err, tune.ErrNewer) {
		s.After, s.newest = entry.Sequence, tune.HashOf(entry.Body)
	}
	return err
}

// Read returns a study. It has all entries that were acknowledged before the call and not lost
// since.
func Read(ctx context.Context, log events.StudyLog, name events.Study) (State, error) {
	s, _, err := read(ctx, log, name, nil)
	if err != nil {
		return s, s.about(err)
	}
	return s, nil
}

// readings limits how often a log is read that changes while it is read.
const readings = 20

// read folds a log from its beginning. It also returns the hashes of the entries that continue it,
// and calls hear with the time of each entry. If an entry doesn't continue the log, the log is read
// again until a second read continues the result of the first: the bus may have lost entries during
// the first, and the entries before the loss don't belong to those after it.
func read(ctx context.Context, log events.StudyLog, name events.Study, hear func(time.Time)) (s State, chain map[string]bool, err error) {
	if s, chain, err = fold(ctx, log, name, hear); err != nil || s.Study.Skipped == 0 {
		return s, chain, err
	}
	var pause events.Pause
	for range readings {
		if err := pause.Wait(ctx); err != nil {
			return s, chain, err
		}
		before := s
		s, chain, err = fold(ctx, log, name, hear)
		if err != nil || s.Study.Skipped == before.Study.Skipped && chain[before.Study.Head()] {
			return s, chain, err
		}
	}
	return s, chain, errUnstable
}

func fold(ctx context.Context, log events.StudyLog, name events.Study, hear func(time.Time)) (State, map[string]bool, error) {
	s, chain := State{Name: name}, map[string]bool{"": true}
	for entry, err := range log.ReadStudy(ctx, name, 0, false) {
		if err != nil {
			return s, chain, err
		}
		if err = s.enter(entry); errors.Is(err, tune.ErrNewer) {
			return s, chain, err
		}
		chain[s.Study.Head()] = true
		if hear != nil {
			hear(entry.Stored)
		}
	}
	return s, chain, nil
}

// advance reads what is new after a state. It reads from the state's base, so that the newest entry
// of the state was in the log before the read began: if that still follows the same entries, all of
// them are in the log, and it becomes the new state's base. It also returns the hashes of the
// entries that it has read, from the base on.
//
// The error is errLost if another entry has the place of one that was read before, errBehind if the
// log ends before the state, and tune.ErrUnchained if an entry after the state doesn't continue it:
// either no reader counts that entry, or the state has entries that are lost.
func (s State) advance(ctx context.Context, log events.StudyLog, hear func(time.Time)) (State, map[string]bool, error) {
	next := State{Name: s.Name}
	if s.base != nil {
		next = *s.base
	}
	found, passed := next.same(s), map[string]bool{next.newest: true}
	anchored, base := next.After == 0, next
	for entry, err := range log.ReadStudy(ctx, s.Name, max(next.After, 1)-1, false) {
		switch {
		case err != nil:
			return s, nil, err
		case !anchored && (entry.Sequence != next.After || tune.HashOf(entry.Body) != next.newest):
			return s, nil, errLost
		case !anchored:
			anchored = true
			continue
		}
		err = next.enter(entry)
		if errors.Is(err, tune.ErrUnchained) && !found && entry.Sequence <= s.After {
			err = nil // it was also skipped before
		}
		if err != nil && !errors.Is(err, tune.ErrContradiction) {
			return next, passed, err
		}
		passed[next.newest] = true
		if hear != nil {
			hear(entry.Stored)
		}
		if !found && next.After >= s.After {
			if !next.same(s) || next.Study.Head() != s.Study.Head() {
				return s, nil, errLost
			}
			found, base = true, next
		}
	}
	if !found || !anchored {
		return s, nil, errBehind
	}
	base.base = nil
	next.base = &base
	return next, passed, nil
}

// ReadOn returns a study of which a state was read before. It reads only new entries, as long as
// the log still has what was read.
func ReadOn(ctx context.Context, log events.StudyLog, s State) (State, error) {
	next, _, err := s.advance(ctx, log, nil)
	switch {
	case errors.Is(err, errLost) || errors.Is(err, errBehind) || errors.Is(err, tune.ErrUnchained):
		return Read(ctx, log, s.Name)
	case err != nil:
		return s, s.about(err)
	}
	return next, nil
}

// checkTime is how often a follower checks that the log still holds what was read of it.
const checkTime = 15 * time.Second

// Follow yields a study as it is, then with each new entry, until it is settled: finished, and none
// of its trials runs. A study that has lost entries is yielded without them.
func Follow(ctx context.Context, log events.StudyLog, name events.Study) iter.Seq2[State, error] {
	return func(yield func(State, error) bool) {
		s, err := Read(ctx, log, name)
		for more := err == nil && yield(s, nil) && !s.Study.Settled(); more && err == nil && ctx.Err() == nil; {
			s, more, err = followOn(ctx, log, s, yield)
		}
		if err != nil {
			yield(s, err)
		}
	}
}

// followOn yields the states that new entries lead to, for up to checkTime, and then checks what
// was read. It returns false when there is nothing more to yield.
func followOn(ctx context.Context, log events.StudyLog, s State, yield func(State, error) bool) (State, bool, error) {
	following, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	for entry, err := range log.ReadStudy(following, s.Name, s.After, true) {
		switch {
		case err != nil && following.Err() != nil:
			continue // it is the last one
		case err != nil:
			return s, false, s.about(err)
		}
		next := s
		switch err = next.enter(entry); {
		case errors.Is(err, tune.ErrUnchained):
			next, err = Read(ctx, log, s.Name)
		case errors.Is(err, tune.ErrContradiction):
			err = nil
		}
		if err != nil {
			return s, false, s.about(err)
		}
		if s = next; !yield(s, nil) || s.Study.Settled() {
			return s, false, nil
		}
	}
	if ctx.Err() != nil {
		return s, false, nil
	}
	next, err := ReadOn(ctx, log, s)
	if err != nil || next.same(s) && next.Study.Head() == s.Study.Head() {
		return next, err == nil, err
	}
	return next, yield(next, nil) && !next.Study.Settled(), nil
}

// Copy writes the entries that a state was folded from, one a line, without those that don't
// continue the log. It returns an error if the log no longer has the whole state; then what was
// written is not the study's log.
func Copy(ctx context.Context, log events.StudyLog, state State, w io.Writer) error {
	if err := copyTo(ctx, log, state, w); err != nil {
		return state.about(fmt.Errorf("copy the log up to entry %d: %w", state.After, err))
	}
	return nil
}

func copyTo(ctx context.Context, log events.StudyLog, state State, w io.Writer) error {
	s := State{Name: state.Name}
	if state.After == 0 {
		return nil
	}
	for entry, err := range log.ReadStudy(ctx, state.Name, 0, false) {
		if err == nil {
			err = s.enter(entry)
		}
		if err == nil || errors.Is(err, tune.ErrContradiction) {
			_, err = w.Write(append(entry.Body, '\n'))
		}
		if err != nil && !errors.Is(err, tune.ErrUnchained) {
			return err
		}
		if s.After >= state.After {
			break
		}
	}
	switch {
	case s.After < state.After:
		return errBehind
	case !s.same(state) || s.Study.Head() != state.Study.Head():
		return errLost
	}
	return nil
}

// timeLook is how often a waiter reads the bus's time, which may be known more exactly by then.
const timeLook = 5 * time.Second

// Over waits until the study is over, by the log or by its time, or until lost returns true, and
// returns true; it returns false if ctx ends before.
func (l *Log) Over(ctx context.Context, lost func(tune.Study) bool) bool {
	for {
		study, changed := l.Watch()
		if study.Finished != nil || lost(study) {
			return true
		}
		left := time.Duration(math.MaxInt64)
		if at := study.OutOfTimeAt(); !at.IsZero() {
			left = at.Sub(l.Time())
		}
		if left <= 0 {
			return true
		}
		timer := time.NewTimer(min(left, timeLook))
		select {
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-changed:
			timer.Stop()
		case <-timer.C:
		}
	}
}
