package dispatch

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

// sweepShare keeps the sweeps of a large bucket from taking more than a twentieth of the time.
const sweepShare = 20

// sweeps sweeps whenever it is this dispatcher's turn, until ctx ends.
func (d *Dispatcher) sweeps(ctx context.Context) error {
	for interval := d.SweepEvery; ctx.Err() == nil; sleep(ctx, interval) {
		began := time.Now()
		mine, err := d.turn(ctx, interval)
		if errors.Is(err, events.ErrClosed) {
			return err
		}
		if err == nil && mine {
			err = d.sweepSafely(ctx)
		}
		if err != nil && ctx.Err() == nil {
			d.log.WarnContext(ctx, "sweep incomplete; the next one continues", "error", err)
		}
		interval = max(d.SweepEvery, sweepShare*time.Since(began))
	}
	return nil
}

// sweepSafely recovers from a panic that one run causes, so that events are still handled.
func (d *Dispatcher) sweepSafely(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return d.Sweep(ctx)
}

// Sweep goes through all runs once and completes what is left to do: it ends those that have waited
// too long, announces those that ended unannounced, dispatches those that lack a job, enqueues jobs
// again that may be lost, and removes runs from admissions that have their outcome. Several
// dispatchers may sweep at once.
func (d *Dispatcher) Sweep(ctx context.Context) error {
	now, err := d.now(ctx)
	if err != nil {
		return err
	}
	s := sweep{Dispatcher: d, now: now, own: time.Now(), seen: map[string]*swept{}}
	latest, err := s.beginReplay(ctx)
	if err != nil {
		return err
	}
	for entry, err := range d.joins.All(ctx) {
		if err != nil {
			return fmt.Errorf("sweep joins: %w", err)
		}
		s.note(s.run(ctx, entry))
		latest.note(entry)
	}
	s.note(s.replay(ctx, latest))
	for entry, err := range d.admissions.All(ctx) {
		if err != nil {
			return fmt.Errorf("sweep admissions: %w", err)
		}
		if isAdmission(entry.Key) {
			s.of(ctx, entry.Key)
		}
	}
	for _, pipeline := range s.seen {
		s.note(s.admission(ctx, pipeline))
	}
	return errors.Join(s.errs...)
}

// sweep is one pass over all joins and admissions.
type sweep struct {
	*Dispatcher
	now  time.Time // by the bus's clock
	own  time.Time // by this machine's clock
	seen map[string]*swept
	errs []error

	rechecks int // runs whose job was checked
}

// swept is one pipeline in a sweep.
type swept struct {
	current deployed
	err     error  // why current is not known
	removed bool   // current is not known, because the pipeline was removed
	lacking []held // runs whose current stage lacks its job
}

// note keeps an error and lets the sweep continue: one run with an error does not hold up the
// others.
func (s *sweep) note(err error) {
	if err != nil {
		s.errs = append(s.errs, err)
	}
}

// of reads a pipeline once.
func (s *sweep) of(ctx context.Context, pipeline string) *swept {
	if s.seen[pipeline] == nil {
		found := &swept{}
		found.current, found.err = s.pipeline(ctx, pipeline)
		if _, missing := events.AsKind(found.err, events.FailureInput); missing {
			removed, err := s.wasRemoved(ctx, pipeline)
			s.note(err)
			found.removed = removed
		}
		s.seen[pipeline] = found
	}
	return s.seen[pipeline]
}

// run reads the copy of one join, and does what its state requires if the leader still has that
// state: copies may be old.
func (s *sweep) run(ctx context.Context, entry events.Copy) error {
	run := hold(events.Entry(entry))
	if run.damage == nil && !s.isDue(ctx, run) {
		return nil
	}
	run, err := readJoin(ctx, s.joins, entry.Key)
	if errors.Is(err, events.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if run.damage != nil {
		return s.repaired(ctx, run)
	}
	if !s.isDue(ctx, run) {
		return nil
	}
	pipeline := s.of(ctx, run.Pipeline)
	if pipeline.removed && (run.State == join.Waiting || run.State == join.Complete) {
		return s.endRemoved(ctx, run)
	}
	switch {
	case run.State == join.Ended:
		_, err := s.announce(ctx, run)
		return errors.Join(err, s.check(ctx, run))
	case !run.Current().Exists() || run.Ready(pipeline.current.spec):
		// Its pipeline may have been changed since.
		return s.waiting(ctx, run, pipeline.current)
	case run.LacksJob():
		pipeline.lacking = append(pipeline.lacking, run)
		return nil
	}
	return s.recheck(ctx, run, pipeline)
}

// isDue reports whether a sweep has something to do for a run in that state.
func (s *sweep) isDue(ctx context.Context, run held) bool {
	switch run.State {
	case join.Ended:
		return !run.Ending.Announced || !run.Ending.Checked
	case join.Complete:
		return true
	case join.Dispatched:
		return s.overdue(run)
	}
	pipeline := s.of(ctx, run.Pipeline)
	spec := pipeline.current.spec
	switch {
	case pipeline.err != nil:
		return pipeline.removed
	case run.Ready(spec):
		return true
	case run.IsSearching():
		return run.LacksJob() || s.overdue(run)
	}
	return run.Expire(spec, s.clocks()).State == join.Ended || run.Decide(spec, run.Events).SearchDue()
}

// A run whose job was enqueued long ago, and that has no outcome, may have lost it, for example
// because the bus was restored from a backup. It is rechecked after recheckAfter sweeps, and then
// after as many again; at most maxRechecks runs are rechecked in one sweep, which limits the cost
// of a long queue. A run whose job may never have been enqueued is rechecked after one sweep.
const (
	recheckAfter = 10
	maxRechecks  = 100
)

// overdue reports whether to recheck the job of a run now.
func (s *sweep) overdue(run held) bool {
	since := s.now.Sub(run.written) // negative if the bus's clock was set back
	wait, stage := recheckAfter*s.SweepEvery, run.Current()
	if stage.Unconfirmed {
		wait = s.SweepEvery
	}
	return stage.Outcome == 0 && s.rechecks < maxRechecks && (since < 0 || since > wait)
}

// clocks are the times by which a run may have waited for too long.
func (s *sweep) clocks() join.Clocks { return join.Clocks{Bus: s.now, Own: s.own} }

// check cancels the jobs on the queue of a run that has ended, until the run has been ended for
// longer than a dispatcher takes between reading a join and acting on it.
func (s *sweep) check(ctx context.Context, run held) error {
	if run.Ending.Checked || !run.Ending.Announced {
		return nil
	}
	if err := errors.Join(s.withdraw(ctx, run, events.FunctionTune, deployed{}), s.withdraw(ctx, run, events.FunctionTrain, deployed{})); err != nil {
		return err
	}
	if since := s.now.Sub(run.written); since >= 0 && since < checkedAfter*s.SweepEvery {
		return nil
	}
	_, err := s.swap(ctx, run, run.Join.Checked())
	if errors.Is(err, events.ErrConflict) {
		return nil
	}
	return err
}

// checkedAfter is the number of sweeps after which no dispatcher is expected to act on the state
// that a run had before it ended.
const checkedAfter = 2

// repaired rebuilds a join that can't be read, and continues with it.
func (s *sweep) repaired(ctx context.Context, broken held) error {
	if broken.Pipeline == "" {
		return broken.damage
	}
	pipeline := s.of(ctx, broken.Pipeline)
	if pipeline.err != nil {
		return errors.Join(broken.damage, pipeline.err)
	}
	run, err := s.rebuild(ctx, broken, pipeline.current)
	if errors.Is(err, events.ErrConflict) {
		return nil // another dispatcher has done so
	}
	if err != nil {
		return err
	}
	return s.advance(ctx, run, pipeline.current)
}

// waiting ends a run that has waited too long, by all its events in the log, because the
// dispatchers that handle them may be behind. It dispatches a run that has had all it waits for
// since its pipeline was changed.
func (s *sweep) waiting(ctx context.Context, run held, current deployed) error {
	all, err := s.eventsOf(ctx, run.Join)
	if err != nil {
		return err
	}
	decided, err := s.pin(ctx, run.Decide(current.spec, all), current)
	if err != nil {
		return err
	}
	after := decided.Expire(current.spec, s.clocks())
	if after.State == join.Waiting && !after.IsSearching() {
		return nil
	}
	written, err := s.swap(ctx, run, after)
	if errors.Is(err, events.ErrConflict) {
		return nil // an event came; the next sweep reads the run again
	}
	if err != nil {
		return err
	}
	return s.advance(ctx, written, current)
}

// recheck records the outcome of a run's training if it is in the log, and otherwise ensures that
// the job of the run's current stage is on the queue. It writes the join again, so that the bus
// records the time.
func (s *sweep) recheck(ctx context.Context, run held, pipeline *swept) error {
	// The revision that the stage has pinned still exists.
	if pipeline.err != nil && !pipeline.removed {
		return pipeline.err
	}
	outcome, found, err := s.outcome(ctx, run.Join)
	if err != nil {
		return err
	}
	s.rechecks++
	if found {
		return s.noteOutcome(ctx, run, outcome.Message.Sequence)
	}
	after := run.Join
	lost := s.reenqueue(ctx, run, pipeline.current)
	if lost == nil {
		after = run.Confirmed()
	}
	if _, err := s.swap(ctx, run, after); !errors.Is(err, events.ErrConflict) {
		return errors.Join(lost, err)
	}
	return lost
}

// admission admits the runs of a pipeline that lack a job, and removes those that have their
// outcome.
func (s *sweep) admission(ctx context.Context, pipeline *swept) error {
	if pipeline.removed {
		return nil // its runs have ended, or have a job
	}
	if pipeline.err != nil {
		return pipeline.err
	}
	current := pipeline.current
	admission, entry, err := readAdmission(ctx, s.admissions, current.spec.Name)
	if err != nil {
		return err
	}
	if entry.Revision == 0 && current.spec.Concurrency == nil {
		for _, run := range pipeline.lacking {
			_, _, err := s.dispatch(ctx, run, current, join.Retry{})
			s.note(err)
		}
		return nil
	}
	over := s.over(ctx, admission, current)
	failed, err := s.settle(ctx, current, func(a join.Admission) join.Admission {
		a = a.Remove(over...)
		for _, run := range pipeline.lacking {
			a = a.Add(run.Join)
		}
		return a
	})
	return errors.Join(err, all(failed))
}

// over returns the admitted runs that have their outcome. The outcome arrived before they were
// admitted, because a worker was faster than the dispatcher that enqueued the job.
func (s *sweep) over(ctx context.Context, admission join.Admission, current deployed) (runs []string) {
	for _, position := range admission.Admitted {
		over, err := s.isOver(ctx, position.Run, current)
		s.note(err)
		if over {
			runs = append(runs, position.Run)
		}
	}
	return runs
}

// isOver reads one of them. A run that is not over must have its job on the queue, because others
// wait behind it.
func (s *sweep) isOver(ctx context.Context, name string, current deployed) (bool, error) {
	run, err := s.read(ctx, current.spec.Name, name)
	if err != nil || run.State == join.Ended || run.Current().Job == "" {
		return false, err
	}
	if _, found, err := s.outcome(ctx, run.Join); found || err != nil {
		return found, err
	}
	return false, s.reenqueue(ctx, run, current)
}
