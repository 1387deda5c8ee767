package tune

import (
	"fmt"
	"time"
)

// Due returns why the study ends at a time; nil if it continues. It is called before anything is
// begun, and again when a trial has ended. max_trials ends the study when the last of these trials
// has ended: running ones are not stopped for it. Whether nothing is left to try depends on the
// algorithm: see Over. The same holds for trials that continue others, which are not new ones.
func (s *Study) Due(now time.Time) *Finished {
	c := s.Config
	if s.Entries == 0 || s.Finished != nil {
		return nil
	}
	switch best := s.Leader(); {
	case s.failing >= c.MaxFailures:
		return &Finished{Failing, fmt.Sprintf("%d trials in a row have failed, the last: %s", s.failing, s.LastFailure())}
	case c.Goal != nil && best != nil && s.folds(best) >= c.Folds() && !c.Objectives[0].Direction.Better(*c.Goal, s.score(best)):
		return &Finished{GoalReached, fmt.Sprintf("trial %s: %s is %v", best.ID, c.Objectives[0].Name, s.score(best))}
	case s.Remaining() == 0 && s.settled() && !c.Algorithm.HasEpochs():
		return s.Over()
	case c.MaxTime > 0 && !now.Before(s.Opened.Add(c.MaxTime)):
		return &Finished{Why: OutOfTime}
	case c.Patience > 0 && s.idle >= c.Patience:
		return &Finished{NoBetter, fmt.Sprintf("%d trials without a better one", s.idle)}
	}
	return nil
}

// Over returns the end of a study whose algorithm has nothing left to try; nil while a trial runs
// or is to be tried again.
func (s *Study) Over() *Finished {
	switch {
	case s.Entries == 0 || s.Finished != nil || !s.settled():
		return nil
	case s.Remaining() == 0:
		return &Finished{Why: MaxTrials}
	}
	return &Finished{Why: Exhausted}
}

// OutOfTimeAt returns when the study ends even if trials run; zero: it has no such time.
func (s *Study) OutOfTimeAt() time.Time {
	if s.Config.MaxTime == 0 || s.Entries == 0 {
		return time.Time{}
	}
	return s.Opened.Add(s.Config.MaxTime)
}

// LastFailure returns the number and the message of the trial that failed last, or "" if none
// failed.
func (s *Study) LastFailure() string {
	var last *Trial
	for _, t := range s.Trials {
		if t.Status == Failed && (last == nil || t.since > last.since) {
			last = t
		}
	}
	if last == nil {
		return ""
	}
	return fmt.Sprintf("trial %s: %s", last.ID, last.Message)
}

// Settled reports whether the study is finished and none of its trials runs: its outcome is final.
func (s *Study) Settled() bool { return s.Finished != nil && len(s.Running()) == 0 }
