package tune

import (
	"fmt"
	"time"
)

// Due says whether the study has come to its end at a time, and why; nil if it goes on. It is asked
// before anything is begun, and again when a trial has ended. Of max_trials it is the end when the
// last of them has ended: those that run are not stopped for it. That nothing is left to try is the
// algorithm's to say: see Over. So is it where trials go on from others, which are no new ones.
func (s *Study) Due(now time.Time) *Finished {
	c := s.Config
	if s.Entries == 0 || s.Finished != nil {
		return nil
	}
	switch best := s.Leader(); {
	case s.failing >= c.MaxFailures:
		return &Finished{Failing, fmt.Sprintf("%d trials in a row have failed, the last: %s", s.failing, s.LastFailure())}
	case c.Goal != nil && best != nil && !c.Objectives[0].Direction.Better(*c.Goal, s.score(best)):
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

// Over is the end of a study whose algorithm has nothing left to try; nil while a trial runs or is
// to be tried again.
func (s *Study) Over() *Finished {
	switch {
	case s.Entries == 0 || s.Finished != nil || !s.settled():
		return nil
	case s.Remaining() == 0:
		return &Finished{Why: MaxTrials}
	}
	return &Finished{Why: Exhausted}
}

// OutOfTimeAt is when the study ends whatever runs then; zero: no such time.
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

// Settled says that the study is finished and nothing of it runs any more: its outcome is what it
// is.
func (s *Study) Settled() bool { return s.Finished != nil && len(s.Running()) == 0 }
