package tuner

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/worker"
)

// studyOf is the name of the log of a search.
func studyOf(e execution.Execution) events.Study {
	return events.Study{Pipeline: e.Job.Pipeline, ID: hexOf(e.ID)}
}

func hexOf(execution string) string { return strings.TrimPrefix(execution, "sha256:") }

// open reads the log of a search to its end; one that nobody has begun has no entries.
func (t *Tuner) open(ctx context.Context, task worker.Task, e execution.Execution) (*ledger, error) {
	return openLedger(ctx, &ledger{bus: t.bus, name: studyOf(e), prove: task.Prove, log: e.Log})
}

// study works on a search until it is over and nothing of it runs, and returns what it came to. config is what a module says that has
// just been asked; nil where the study is begun already.
func (t *Tuner) study(ctx context.Context, a *execution.Attempt, l *ledger, config *tune.Config) (tune.Study, error) {
	if err := l.begin(ctx, a.Task, config); err != nil {
		return tune.Study{}, err
	}
	if study := l.now(); study.Settled() {
		return study, nil
	}
	err := t.sit(ctx, a, l, func(ctx context.Context, s *seat) error {
		for {
			if err := s.work(ctx); err != nil {
				return err
			}
			if settled, err := s.wait(ctx); settled || err != nil {
				return err
			}
		}
	})
	return l.now(), err
}

// begin writes the first entry of the log, or that this job asks for a study again that came to nothing: one that failed before this
// job asked for it, or one that another job had cancelled.
func (l *ledger) begin(ctx context.Context, task worker.Task, config *tune.Config) error {
	request := task.Job.ID + " " + task.Job.Request
	return l.write(ctx, func(study tune.Study) (e tune.Entry, err error) {
		switch {
		case study.Entries == 0 && config == nil:
			return e, events.Fail(events.FailureCrash, errors.New("a study without a config"))
		case study.Entries == 0:
			e.Begun = &tune.Begun{Config: *config, Request: request}
		case study.Finished == nil:
		case study.Finished.Why == tune.Cancelled:
			e.Begun = &tune.Begun{Config: study.Config, Request: request + " " + task.Attempt.ID}
		case study.Finished.Why == tune.Failing && !slices.Contains(study.Requests, request):
			e.Begun = &tune.Begun{Config: study.Config, Request: request}
		}
		return e, nil
	})
}

// How long a tune job waits for others' trials: with its slot in hand, and then handed back to the queue.
const (
	waitInHand = 10 * time.Second
	waitLook   = time.Second // after it was handed back
	waitAway   = 4 * time.Second
)

// wait returns when the log has moved on, and says whether the study is over. One who only waits holds no slot for long: that is an error
// by which the job goes back to its queue.
func (s *seat) wait(ctx context.Context) (settled bool, err error) {
	study, changed := s.watch()
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
		return false, worker.Later{After: waitAway, Why: fmt.Sprintf("%d trials run elsewhere", len(study.Running()))}
	}
}

// patience is longer for one who has worked on a trial: the others may end soon, too.
func (s *seat) patience() time.Duration {
	if s.task.Attempt.Number > 1 && !s.worked {
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
		return true, s.write(ctx, func(now tune.Study) (e tune.Entry, err error) {
			if holds(now, trial.Owner, trial.ID) && now.Of(s.me.Job) == nil {
				e.Taken = &tune.Taken{Trial: trial.ID, Owner: s.me}
			}
			return e, nil
		})
	}
	return false, nil
}

// parseConfig reads what a module says of its search, and completes it.
func parseConfig(text []byte, parallel int, seed int64) (c tune.Config, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return c, execution.CheckFailure(fmt.Errorf("study: %w", err))
	}
	c.Parallel = max(1, cmp.Or(parallel, c.Parallel))
	c.Seed = cmp.Or(c.Seed, seed)
	c.Algorithm.Name = cmp.Or(c.Algorithm.Name, tune.Bayesian)
	for i, o := range c.Objectives {
		if o.Direction != "" {
			continue
		}
		direction, known := tune.DirectionOf(o.Name)
		if !known {
			return c, execution.CheckFailure(fmt.Errorf("study: objectives: %s: direction: expected min or max: its name doesn't tell", o.Name))
		}
		c.Objectives[i].Direction = direction
	}
	if err := c.Check(); err != nil {
		return c, execution.CheckFailure(fmt.Errorf("study: %w", err))
	}
	return c, nil
}
