package tune

import (
	"cmp"
	"fmt"
	"math"
)

// end takes how a try at a trial ended, from its owner alone.
func (s *Study) end(e Entry) error {
	if e.Ended == nil {
		return nil
	}
	t, err := s.running(e.Ended.Trial)
	switch {
	case err != nil:
		return fmt.Errorf("ended: %w", err)
	case t.Owner != e.Ended.Owner:
		return fmt.Errorf("ended: trial %s is in the hands of %s, not of %s", t.ID, t.Owner, e.Ended.Owner)
	}
	if err := s.Config.checkEnded(*e.Ended); err != nil {
		return fmt.Errorf("ended: trial %s: %w", t.ID, err)
	}
	better := e.Ended.Status == Completed && s.improves(e.Ended)
	t.Status, t.Owner, t.Ended, t.since = e.Ended.Status, Owner{}, e.Stored, s.Entries
	t.Metrics, t.Curves, t.Step = e.Ended.Metrics, e.Ended.Curves, e.Ended.Step
	t.Stopped, t.Message, t.Files = e.Ended.Stopped, e.Ended.Message, e.Ended.Files
	s.count(t, better)
	s.lead(t)
	return nil
}

// count is what the end of a try means for the trial's next one, and for the study's budgets.
func (s *Study) count(t *Trial, better bool) {
	switch {
	case t.Status == Invalid:
		t.Tries--
	case t.Status == Failed && t.Tries <= s.Config.Retries:
		t.Status = Invalid
	case t.Status == Failed:
		s.failing++
	case t.Status == Completed:
		s.failing = 0
		s.idle++
	case t.Status == Infeasible: // or a search by patience alone would have no end where nothing can be tried
		s.idle++
	}
	if better {
		s.idle = 0
	}
}

// lead remembers the best trial: of equal ones that which was begun first.
func (s *Study) lead(t *Trial) {
	if t.Status != Completed || !s.Feasible(t) {
		return
	}
	at, best := s.place(t.ID), s.Leader()
	if best == nil || cmp.Or(s.compare(t, best), cmp.Compare(at+1, s.leader)) < 0 {
		s.leader = at + 1
	}
}

// checkEnded refuses an end that says nothing, or not all that a trial is judged by.
func (c Config) checkEnded(e Ended) error {
	switch e.Status {
	case Failed, Infeasible, Invalid:
		return nil
	case Completed:
	default:
		return fmt.Errorf("status: expected %s, %s, %s or %s, got %q", Completed, Failed, Infeasible, Invalid, e.Status)
	}
	for _, o := range c.Objectives {
		if score, there := o.score(e.Curves, e.Metrics); !there {
			return fmt.Errorf("metrics: %s: missing, and it is what the study is about", o.Name)
		} else if math.IsNaN(score) || math.IsInf(score, 0) {
			return fmt.Errorf("metrics: %s: expected a finite number, got %v", o.Name, score)
		}
	}
	return nil
}
