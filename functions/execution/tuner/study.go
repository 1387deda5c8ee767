package tuner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/execution/tuner/search"
	"github.com/stoker-ml/stoker/functions/studies"
	"github.com/stoker-ml/stoker/functions/worker"
)

// studyOf is the name of the log of a search.
func studyOf(e execution.Execution) events.Study {
	return events.Study{Pipeline: e.Job.Pipeline, ID: hexOf(e.ID)}
}

func hexOf(execution string) string { return strings.TrimPrefix(execution, "sha256:") }

// open reads the log of a search to its end; one that nobody has begun has no entries.
func (t *Tuner) open(ctx context.Context, task worker.Task, e execution.Execution) (*studies.Log, error) {
	return studies.Open(ctx, t.bus, studyOf(e), studies.Options{Prove: task.Prove, Logger: e.Log})
}

// search works on a study until it is over and nothing of it runs, and makes what it came to the outcome of the execution.
func (s *seat) search(ctx context.Context) (*execution.Result, error) {
	if s.Now().Entries == 0 {
		if done, err := s.ask(ctx); done != nil || err != nil {
			return done, err
		}
	}
	if err := begin(ctx, s.Log, s.task, nil); err != nil {
		return nil, err
	}
	for {
		if err := s.work(ctx); err != nil {
			return nil, err
		}
		if settled, err := s.wait(ctx); err != nil {
			return nil, err
		} else if settled {
			return conclude(ctx, s.attempt, s.Log)
		}
	}
}

// begin writes the first entry of the log, or that this job asks again for a study that came to nothing.
func begin(ctx context.Context, l *studies.Log, task worker.Task, config *tune.Config) error {
	return l.Write(ctx, func(study tune.Study) (e tune.Entry, err error) {
		switch {
		case study.Entries == 0 && config == nil:
			return e, search.NoStudy()
		case study.Entries == 0:
			e.Begun = &tune.Begun{Config: *config, Request: requestOf(task)}
		case study.Finished == nil || !reopens(study, task):
		case study.Finished.Why == tune.Cancelled:
			e.Begun = &tune.Begun{Config: study.Config, Request: requestOf(task) + " " + task.Attempt.ID}
		default:
			e.Begun = &tune.Begun{Config: study.Config, Request: requestOf(task)}
		}
		return e, nil
	})
}

// reopens says whether a job asks again for a study that is finished: for one that failed before this job asked for it, and for one
// that another job had cancelled.
func reopens(study tune.Study, task worker.Task) bool {
	why := study.Finished.Why
	return why == tune.Cancelled || why == tune.Failing && !slices.Contains(study.Requests, requestOf(task))
}

func requestOf(task worker.Task) string { return task.Job.ID + " " + task.Job.Request }

// How long a tune job waits for others' trials: with its slot in hand, and then with the slot given back, until it looks again.
const (
	waitInHand = 10 * time.Second
	waitLook   = time.Second // of one that comes from the queue again
	waitAway   = 4 * time.Second
)

// wait returns when the log has moved on, and says whether the study is over. One who only waits holds no slot for long.
func (s *seat) wait(ctx context.Context) (settled bool, err error) {
	study, changed := s.Watch()
	if study.Settled() {
		return true, nil
	}
	if orphan, err := s.orphan(ctx, study); orphan || err != nil {
		return false, err
	}
	timer := time.NewTimer(s.patience())
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false, unavailable(context.Cause(ctx))
	case <-changed:
		return false, nil
	case <-timer.C:
		return false, s.rest(ctx)
	}
}

// rest gives the slot to other jobs the study is over, or for a look at what else there is to do. Where the worker has no other jobs it goes back
// to the queue.
func (s *seat) rest(ctx context.Context) error {
	if s.task.Rest == nil {
		study := s.Now()
		return worker.Later{After: waitAway, Why: fmt.Sprintf("%d trials run elsewhere", len(study.Running()))}
	}
	s.left, s.worked = true, false
	return s.task.Rest(ctx, s.settled)
}

// settled returns when the study is over, or it is time for a look.
func (s *seat) settled(ctx context.Context) error {
	look := time.NewTimer(waitAway)
	defer look.Stop()
	for {
		study, changed := s.Watch()
		if study.Settled() {
			return nil
		}
		select {
		case <-ctx.Done():
			return unavailable(context.Cause(ctx))
		case <-changed:
		case <-look.C:
			return nil
		}
	}
}

// patience is longer for one who has worked on a trial: the others may end soon, too.
func (s *seat) patience() time.Duration {
	switch {
	case s.worked:
		return waitInHand
	case s.left: // the log was read all the time
		return 0
	case s.task.Attempt.Number > 1:
		return waitLook
	}
	return waitInHand
}

// orphan takes over a trial whose job is on the queue no more, as after a queue was emptied by hand: nobody else would.
func (s *seat) orphan(ctx context.Context, study tune.Study) (bool, error) {
	for _, trial := range study.Running() {
		_, err := s.bus.Queued(ctx, trial.Owner.Job)
		if !errors.Is(err, events.ErrNotFound) {
			continue
		}
		return true, s.Write(ctx, func(now tune.Study) (e tune.Entry, err error) {
			if search.Holds(now, trial.Owner, trial.ID) && now.Of(s.me.Job) == nil {
				e.Taken, s.orphaned = &tune.Taken{Trial: trial.ID, Owner: s.me}, trial.ID
			}
			return e, nil
		})
	}
	return false, nil
}
