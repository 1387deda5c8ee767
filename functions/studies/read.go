package studies

import (
	"context"
	"fmt"
	"io"
	"iter"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
)

// State is what a log comes to, up to an entry.
type State struct {
	Name  events.Study
	Study tune.Study
	After uint64 // the sequence of that entry; 0: nobody has begun the study
}

// Read is a study as it stands.
func Read(ctx context.Context, log events.Studies, name events.Study) (State, error) {
	s := State{Name: name}
	for entry, err := range log.ReadStudy(ctx, name, 0, false) {
		if err == nil {
			err = s.enter(entry)
		}
		if err != nil {
			return s, fmt.Errorf("study %s of pipeline %s: %w", name.ID, name.Pipeline, err)
		}
	}
	return s, nil
}

// Follow yields a study as it stands, then with each entry that is new, until it is settled: finished, with nothing of it running.
func Follow(ctx context.Context, log events.Studies, name events.Study) iter.Seq2[State, error] {
	return func(yield func(State, error) bool) {
		s, err := Read(ctx, log, name)
		if err != nil || !yield(s, nil) {
			yieldError(yield, s, err)
			return
		}
		if s.Study.Settled() {
			return
		}
		for entry, err := range log.ReadStudy(ctx, name, s.After, true) {
			if err == nil {
				err = s.enter(entry)
			}
			if err != nil {
				yieldError(yield, s, err)
				return
			}
			if !yield(s, nil) || s.Study.Settled() {
				return
			}
		}
	}
}

func yieldError(yield func(State, error) bool, s State, err error) {
	if err != nil {
		yield(s, fmt.Errorf("study %s of pipeline %s: %w", s.Name.ID, s.Name.Pipeline, err))
	}
}

// enter adds one entry. One that contradicts the log was written by nobody who had read it.
func (s *State) enter(entry events.StudyEntry) error {
	if err := s.Study.Enter(entry.Body, entry.Stored); err != nil {
		return fmt.Errorf("entry %d of the log: %w", entry.Sequence, err)
	}
	s.After = entry.Sequence
	return nil
}

// Copy writes the log itself, an entry a line.
func (l *Log) Copy(ctx context.Context, w io.Writer) error {
	return events.Fail(events.FailureUnavailable, Copy(ctx, l.bus, l.name, w))
}

// Copy writes the log itself, an entry a line.
func Copy(ctx context.Context, log events.Studies, name events.Study, w io.Writer) error {
	for entry, err := range log.ReadStudy(ctx, name, 0, false) {
		if err != nil {
			return fmt.Errorf("study %s of pipeline %s: %w", name.ID, name.Pipeline, err)
		}
		if _, err := w.Write(append(entry.Body, '\n')); err != nil {
			return err
		}
	}
	return nil
}
