package dispatch

import (
	"context"
	"errors"

	"github.com/stoker-ml/stoker/events"
)

// A run whose job was offered long ago, and of which nothing is told, may have lost it with a bus that was brought back from a backup,
// say. It is looked at after so many sweeps without a word, and then after as many again; so many runs in one sweep, those that were
// looked at last come last. That bounds what a long queue costs. One whose job may never have been enqueued is looked at after one sweep.
const (
	missedAfter = 10
	mostMissed  = 100
)

// overdue says whether to look for the job of a run now.
func (s *sweep) overdue(run held) bool {
	since := s.now.Sub(run.written) // below zero if the bus's clock was set back
	wait := missedAfter * s.SweepEvery
	if run.Unconfirmed || run.IsTuned() && run.Tuning.Unconfirmed {
		wait = s.SweepEvery
	}
	return run.Outcome == 0 && s.missed < mostMissed && (since < 0 || since > wait)
}

// look notes what came of a run's job if that was told, or else makes sure that the job is on the queue. The join is written anew, so
// that the bus notes when that was.
func (s *sweep) look(ctx context.Context, run held) error {
	pipeline := s.of(ctx, run.Pipeline)
	if pipeline.err != nil && !pipeline.removed { // the revision that the join has pinned is there still
		return pipeline.err
	}
	outcome, told, err := s.outcome(ctx, run.Join)
	if err != nil {
		return err
	}
	if told {
		s.missed++
		return s.noteOutcome(ctx, run, outcome.Message.Sequence)
	}
	return s.lookAgain(ctx, run, s.offerAgain(ctx, run, pipeline.current))
}

// lookAgain lets a run be looked at again later, whatever came of the look now.
func (s *sweep) lookAgain(ctx context.Context, run held, now error) error {
	s.missed++
	after := run.Join
	if now == nil {
		after = run.Confirmed()
	}
	if _, err := s.swap(ctx, run, after); !errors.Is(err, events.ErrConflict) {
		return errors.Join(now, err)
	}
	return now
}
