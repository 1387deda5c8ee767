package tune

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/tune/space"
)

// Apply adds the next entry of the log. An entry that contradicts the log, such as that of an
// attempt that lost its trial to another one, is an error and changes nothing. It enforces these
// rules, whoever wrote the log:
//
//   - the first entry begins the study; a later Begun is a request to continue, and of its config
//     only limits and budgets count;
//   - trials are numbered as they are begun, at most MaxTrials of them without a parent, at most
//     Parallel run at once, and a job works on one at a time;
//   - a trial runs until its owner says how it ended, and ends once: a failure makes it Invalid
//     while it has tries left, and only an Invalid trial is begun again;
//   - once the study is finished nothing is begun or taken over for more work; running trials may
//     still end.
func (s *Study) Apply(e Entry) error {
	next := *s
	next.Trials = slices.Clone(s.Trials)
	for _, part := range []func(Entry) error{next.begin, next.find, next.take, next.end, next.start, next.finish} {
		if err := part(e); err != nil {
			return err
		}
	}
	next.Entries++
	next.Last = e.Stored
	*s = next
	return nil
}

func (s *Study) begin(e Entry) error {
	switch {
	case e.Begun == nil && s.Entries == 0:
		return errors.New("a study's first entry: expected its config, under begun")
	case e.Begun == nil:
		return nil
	case s.Entries > 0 && e.Begun.Request == "":
		return errors.New("begun: the study is begun already: expected the request to go on with it")
	}
	if err := e.Begun.Config.Check(); err != nil {
		return fmt.Errorf("begun: %w", err)
	}
	s.Requests = append(slices.Clip(s.Requests), e.Begun.Request)
	config := e.Begun.Config.withDefaults()
	if s.Entries == 0 {
		s.Config, s.Begun = config, e.Stored
	} else {
		s.Config = s.Config.bounded(config)
	}
	s.Opened, s.Finished, s.failing, s.idle = e.Stored, nil, 0, 0
	return nil
}

func (s *Study) find(e Entry) error {
	if len(e.Space) == 0 {
		return nil
	}
	joined := s.Config.Space.Join(e.Space)
	if err := joined.Check(); err != nil {
		return fmt.Errorf("space: %w", err)
	}
	if len(joined) == len(s.Config.Space) {
		return nil // all of them are known
	}
	s.Config.Space = joined
	for i, t := range s.Trials {
		changed := *t
		changed.Values = extended(joined, t.Values)
		changed.key = changed.Values.Key()
		s.Trials[i] = &changed
	}
	return nil
}

// extended returns a trial's values in a space that has been extended since: a parameter that was
// not known had its default.
func extended(s space.Space, values space.Values) space.Values {
	whole := s.Complete(values)
	for _, v := range values {
		if strings.HasPrefix(v.Name, space.Own) {
			whole = append(whole, v)
		}
	}
	return whole
}

func (s *Study) take(e Entry) error {
	if e.Taken == nil {
		return nil
	}
	t, err := s.running(e.Taken.Trial)
	switch {
	case err != nil:
		return fmt.Errorf("taken: %w", err)
	case t.Owner == e.Taken.Owner:
		return fmt.Errorf("taken: trial %s is in the hands of %s already", t.ID, t.Owner)
	}
	if other := s.Of(e.Taken.Owner.Job); other != nil && other.ID != t.ID {
		return fmt.Errorf("taken: trial %s: job %s works on trial %s", t.ID, e.Taken.Owner.Job, other.ID)
	}
	t.Owner, t.By, t.Worker = e.Taken.Owner, e.Taken.Owner, e.Taken.Worker
	return nil
}

func (s *Study) start(e Entry) error {
	for _, started := range e.Started {
		switch {
		case s.Finished != nil:
			return fmt.Errorf("started: trial %s: the study is finished: %s", started.Trial, s.Finished.Why)
		case len(s.Running()) >= s.Config.Parallel:
			return fmt.Errorf("started: trial %s: %d run already, and no more may at once", started.Trial, s.Config.Parallel)
		}
		if other := s.Of(started.Owner.Job); other != nil {
			return fmt.Errorf("started: trial %s: job %s works on trial %s", started.Trial, started.Owner.Job, other.ID)
		}
		t, err := s.tried(started, e.hash)
		if err != nil {
			return fmt.Errorf("started: %w", err)
		}
		t.Status, t.Owner, t.By, t.Worker = Running, started.Owner, started.Owner, started.Worker
		t.Started, t.since = e.Stored, s.Entries
		t.Tries++
	}
	return nil
}

// tried returns a new trial, or one that is tried again from the beginning: the reports of failed
// tries are not part of it.
func (s *Study) tried(started Started, origin string) (*Trial, error) {
	if started.Suggestion == nil {
		t := s.change(started.Trial)
		if t == nil || t.Status != Invalid {
			return nil, fmt.Errorf("trial %s: does not wait for another try", started.Trial)
		}
		*t = Trial{ID: t.ID, Suggestion: t.Suggestion, Tries: t.Tries, Origin: t.Origin, key: t.key}
		return t, nil
	}
	switch parent := started.Suggestion.Parent; {
	case started.Trial != s.NextID():
		return nil, fmt.Errorf("trial %s: expected %s", started.Trial, s.NextID())
	case parent == "" && s.Remaining() == 0:
		return nil, fmt.Errorf("trial %s: %d were begun, and no more may be", started.Trial, s.Config.MaxTrials)
	case parent != "" && (s.Trial(parent) == nil || s.Trial(parent).Status != Completed):
		return nil, fmt.Errorf("trial %s: parent %s: expected a completed trial", started.Trial, parent)
	}
	t := &Trial{ID: started.Trial, Suggestion: *started.Suggestion, Origin: origin, key: s.Config.Space.Complete(started.Suggestion.Values).Key()}
	s.Trials = append(s.Trials, t)
	return t, nil
}

func (s *Study) finish(e Entry) error {
	if e.Finished == nil {
		return nil
	}
	if s.Finished != nil {
		return fmt.Errorf("finished: %s: the study is finished already: %s", e.Finished.Why, s.Finished.Why)
	}
	s.Finished = e.Finished
	return nil
}

// running returns a running trial, to be changed.
func (s *Study) running(id string) (*Trial, error) {
	t := s.change(id)
	switch {
	case t == nil:
		return nil, fmt.Errorf("trial %s: there is none", id)
	case t.Status != Running:
		return nil, fmt.Errorf("trial %s: does not run, it is %s", id, t.Status)
	}
	return t, nil
}

// change replaces a trial by a copy, to be changed.
func (s *Study) change(id string) *Trial {
	at := s.place(id)
	if at < 0 {
		return nil
	}
	changed := *s.Trials[at]
	s.Trials[at] = &changed
	return &changed
}
