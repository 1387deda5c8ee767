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

// sweepShare keeps sweeps of a large register from taking more than a twentieth of the time.
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
			d.log.WarnContext(ctx, "sweep not finished; the next one does the rest", "error", err)
		}
		interval = max(d.SweepEvery, sweepShare*time.Since(began))
	}
	return nil
}

// sweepSafely recovers from a defect of ours that one run meets: events are handled still.
func (d *Dispatcher) sweepSafely(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return d.Sweep(ctx)
}

// Sweep looks at every run once and does what is left to do: it ends those that have waited for too long, tells of those that ended
// without a word, offers complete ones again, looks for jobs of which nothing is heard, and gives free the places at gates which
// nobody needs any more. Several may sweep at once.
func (d *Dispatcher) Sweep(ctx context.Context) error {
	now, err := d.now(ctx)
	if err != nil {
		return err
	}
	s := sweep{Dispatcher: d, now: now, own: time.Now(), seen: map[string]*swept{}}
	checked, err := s.beginRecheck(ctx)
	if err != nil {
		return err
	}
	for entry, err := range d.joins.All(ctx) {
		if err != nil {
			return fmt.Errorf("sweep joins: %w", err)
		}
		s.note(s.run(ctx, entry))
		checked.note(entry)
	}
	s.note(s.recheck(ctx, checked))
	for entry, err := range d.gates.All(ctx) {
		if err != nil {
			return fmt.Errorf("sweep gates: %w", err)
		}
		if isGate(entry.Key) {
			s.of(ctx, entry.Key)
		}
	}
	for _, pipeline := range s.seen {
		s.note(s.gate(ctx, pipeline))
	}
	return errors.Join(s.errs...)
}

// sweep is one look at everything.
type sweep struct {
	*Dispatcher
	now  time.Time // by the bus's clock
	own  time.Time // by this machine's
	seen map[string]*swept
	errs []error

	missed int // runs whose job was looked for
}

// swept is one pipeline in a sweep.
type swept struct {
	current deployed
	err     error  // why current is not known
	removed bool   // current is not known, because the pipeline was removed
	jobless []held // runs that should have a job
}

// note keeps an error and lets the sweep go on: one run in trouble does not hold up the others.
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

// run looks at the copy of one join, and does what its state asks for if that is still so: copies
// may be old.
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
		return s.mended(ctx, run)
	}
	if !s.isDue(ctx, run) {
		return nil
	}
	pipeline := s.of(ctx, run.Pipeline)
	if pipeline.removed && (run.State == join.Waiting || run.State == join.Complete) {
		return s.endRemoved(ctx, run)
	}
	switch run.State {
	case join.Ended:
		return errors.Join(s.tell(ctx, run), s.check(ctx, run))
	case join.Complete:
		pipeline.jobless = append(pipeline.jobless, run)
	case join.Dispatched:
		return s.look(ctx, run)
	case join.Waiting:
		if run.Tuning != nil {
			return s.tuned(ctx, run, pipeline)
		}
		return s.waiting(ctx, run, pipeline.current)
	}
	return nil
}

// isDue says whether a sweep has something to do for a run in that state.
func (s *sweep) isDue(ctx context.Context, run held) bool {
	switch run.State {
	case join.Ended:
		return !run.Ending.Told || !run.Ending.Checked
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
	case run.Tuning != nil:
		return run.Tuning.Job == "" || s.overdue(run)
	}
	return run.Expire(spec, s.clocks()).State == join.Ended || run.Decide(spec, run.Facts).TuningDue()
}

// clocks are the times by which a run may have waited for too long.
func (s *sweep) clocks() join.Clocks { return join.Clocks{Bus: s.now, Own: s.own} }

// check cancels what is on the queue of a run that has ended, until that has been so for longer than a dispatcher takes between reading
// a join and acting on it.
func (s *sweep) check(ctx context.Context, run held) error {
	if run.Ending.Checked || !run.Ending.Told {
		return nil
	}
	if err := errors.Join(s.withdrawTuning(ctx, run), s.withdraw(ctx, run, deployed{})); err != nil {
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

// checkedAfter is after how many sweeps nobody is expected to act on what a run was before it ended.
const checkedAfter = 2

// mended makes a join anew that can't be read, and goes on from there.
func (s *sweep) mended(ctx context.Context, broken held) error {
	if broken.Pipeline == "" {
		return broken.damage
	}
	pipeline := s.of(ctx, broken.Pipeline)
	if pipeline.err != nil {
		return errors.Join(broken.damage, pipeline.err)
	}
	run, err := s.mend(ctx, broken, pipeline.current)
	if errors.Is(err, events.ErrConflict) {
		return nil // someone else has
	}
	if err != nil {
		return err
	}
	return s.advance(ctx, run, pipeline.current)
}

// waiting ends a run that has waited for too long, by all facts that the log has of it: those who handle them may be behind. A run
// that has had all it waits for since its pipeline was changed goes on.
func (s *sweep) waiting(ctx context.Context, run held, current deployed) error {
	facts, err := s.factsOf(ctx, run.Join, 0)
	if err != nil {
		return err
	}
	decided, err := s.complete(ctx, run.Decide(current.spec, facts), current)
	if err != nil {
		return err
	}
	after := decided.Expire(current.spec, s.clocks())
	if after.State == join.Waiting && after.Tuning == nil {
		return nil
	}
	written, err := s.swap(ctx, run, after)
	if errors.Is(err, events.ErrConflict) {
		return nil // a fact came; the next sweep looks again
	}
	if err != nil {
		return err
	}
	return s.advance(ctx, written, current)
}

// tuned sees to it that a run which waits for its tuning has a tune job.
func (s *sweep) tuned(ctx context.Context, run held, pipeline *swept) error {
	switch {
	case run.Ready(pipeline.current.spec): // its pipeline was changed since
		return s.waiting(ctx, run, pipeline.current)
	case run.Tuning.Job == "":
		pipeline.jobless = append(pipeline.jobless, run)
	default:
		return s.lookAgain(ctx, run, s.offerTuningAgain(ctx, run, pipeline.current))
	}
	return nil
}

// gate lets the runs of a pipeline pass which should have a job and which nobody saw through, and takes the places of those
// that have an outcome.
func (s *sweep) gate(ctx context.Context, pipeline *swept) error {
	if pipeline.removed {
		return nil // who is there has ended, or has a job
	}
	if pipeline.err != nil {
		return pipeline.err
	}
	current := pipeline.current
	gate, entry, err := readGate(ctx, s.gates, current.spec.Name)
	if err != nil {
		return err
	}
	if entry.Revision == 0 && current.spec.Concurrency == nil {
		for _, run := range pipeline.jobless {
			s.note(s.proceed(ctx, run, current))
		}
		return nil
	}
	over := s.over(ctx, gate, current)
	return s.pass(ctx, current, func(g join.Gate) join.Gate {
		g = g.Leave(over...)
		for _, run := range pipeline.jobless {
			g = g.Enter(run.Join)
		}
		return g
	})
}

// over are the runs that have a place and an outcome. It was told before they got the place: by a worker that was quicker than the
// dispatcher which offered the job.
func (s *sweep) over(ctx context.Context, gate join.Gate, current deployed) (runs []string) {
	for _, place := range gate.Admitted {
		over, err := s.isOver(ctx, place, current)
		s.note(err)
		if over {
			runs = append(runs, place.Run)
		}
	}
	return runs
}

// isOver looks at one of them. One that is not over must have its job on the queue, for others wait behind it.
func (s *sweep) isOver(ctx context.Context, place join.Place, current deployed) (bool, error) {
	run, err := s.read(ctx, current.spec.Name, place.Run)
	if err == nil && run.IsTuned() && run.Tuning.Job != "" {
		return false, s.offerTuningAgain(ctx, run, current)
	}
	if err != nil || run.State != join.Dispatched {
		return false, err
	}
	if _, told, err := s.outcome(ctx, run.Join); told || err != nil {
		return told, err
	}
	return false, s.offerAgain(ctx, run, current)
}
