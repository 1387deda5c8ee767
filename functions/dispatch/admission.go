package dispatch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

// sweepPrefix begins the keys of those entries in the bucket of admissions that are not admissions:
// no pipeline's name contains a slash.
const sweepPrefix = "sweep/"

func isAdmission(key string) bool { return !strings.HasPrefix(key, sweepPrefix) }

// admit dispatches a run whose current stage lacks a job, or makes it wait until its pipeline is
// resumed or admits another run. For a pipeline without a limit and without waiting runs it makes
// one read.
func (d *Dispatcher) admit(ctx context.Context, run held, current deployed) error {
	if current.spec.Concurrency == nil {
		open, err := d.isOpen(ctx, run.Pipeline)
		if err != nil {
			return err
		}
		if open {
			_, _, err = d.dispatch(ctx, run, current, join.Retry{})
			return err
		}
	}
	failed, err := d.settle(ctx, current, func(a join.Admission) join.Admission { return a.Add(run.Join) }, run)
	return errors.Join(err, d.only(run.Run, failed))
}

// isOpen reports whether a pipeline has no admission that would have to be changed.
func (d *Dispatcher) isOpen(ctx context.Context, pipeline string) (bool, error) {
	_, err := d.reads.get(ctx, "admission "+pipeline, func(ctx context.Context) (events.Entry, error) { return d.admissions.Get(ctx, pipeline) })
	if errors.Is(err, events.ErrNotFound) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("read admission %s: %w", pipeline, err)
	}
	return false, nil
}

// release removes a run whose outcome is in the log from the admission of its pipeline, and admits
// the next one. An outcome is never refused: the run must not be given another event that says it
// failed. While the pipeline is not applied no run is admitted; once it is applied again, a sweep
// removes the run.
func (d *Dispatcher) release(ctx context.Context, outcome events.Event) error {
	if open, err := d.isOpen(ctx, outcome.Pipeline); err != nil || open {
		return err
	}
	current, err := readPipeline(ctx, d.pipelines, outcome.Pipeline)
	if errors.Is(err, events.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	failed, err := d.settle(ctx, current, func(a join.Admission) join.Admission { return a.Remove(outcome.Run) })
	return errors.Join(err, d.only(outcome.Run, failed))
}

// settle changes the admission of a pipeline, and then serves every run in it. It repeats that
// until no run is removed, because a removal admits another run. Each step can be repeated: a run
// that was admitted by a dispatcher that died is found by the next one. An error with one run does
// not hold up the others: failed contains it. The caller has read, or written, the joins in known.
func (d *Dispatcher) settle(
	ctx context.Context, current deployed, change func(join.Admission) join.Admission, known ...held,
) (failed []runError, err error) {
	defer d.inTurn.lock(current.spec.Name)()
	for {
		admission, err := d.changeAdmission(ctx, current, change)
		if err != nil {
			return nil, err
		}
		gone, failed := d.serve(ctx, admission, current, known)
		if len(gone) == 0 {
			return failed, nil
		}
		known = nil // settle has changed them
		change = func(a join.Admission) join.Admission { return a.Remove(gone...) }
	}
}

// serve ends the runs that are superseded, and dispatches those admitted. It returns the runs to
// remove.
func (d *Dispatcher) serve(ctx context.Context, admission join.Admission, current deployed, known []held) (gone []string, failed []runError) {
	for _, position := range admission.Waiting {
		if position.SupersededBy == "" {
			continue
		}
		if err := d.supersede(ctx, current, position); err != nil {
			failed = append(failed, runError{position.Run, err})
			continue
		}
		gone = append(gone, position.Run)
	}
	for _, position := range admission.Admitted {
		stays, err := d.serveAdmitted(ctx, current, position.Run, known)
		if err != nil {
			failed = append(failed, runError{position.Run, err})
		} else if !stays {
			gone = append(gone, position.Run)
		}
	}
	return gone, failed
}

// serveAdmitted dispatches a run that was admitted, if it lacks its job, and reports whether it
// stays until its outcome is in the log.
func (d *Dispatcher) serveAdmitted(ctx context.Context, current deployed, name string, known []held) (stays bool, err error) {
	run, err := d.readUnless(ctx, current, name, known)
	if err != nil {
		return false, err
	}
	if run.LacksJob() {
		if run, _, err = d.dispatch(ctx, run, current, join.Retry{}); err != nil {
			return false, err
		}
	}
	if run.State == join.Ended {
		_, err := d.announce(ctx, run)
		return false, errors.Join(err, d.withdraw(ctx, run, events.FunctionTrain, current))
	}
	return (run.State == join.Dispatched || run.IsSearching()) && current.spec.Concurrency != nil, nil
}

// readUnless reads a run's join, unless it is among those known.
func (d *Dispatcher) readUnless(ctx context.Context, current deployed, name string, known []held) (held, error) {
	for _, run := range known {
		if run.Run == name {
			return run, nil
		}
	}
	return d.read(ctx, current.spec.Name, name)
}

// supersede ends a waiting run whose position a newer run took. A run that has a job by now keeps
// it.
func (d *Dispatcher) supersede(ctx context.Context, current deployed, position join.Position) error {
	for pause := (events.Pause{}); ; {
		run, err := d.read(ctx, current.spec.Name, position.Run)
		if err != nil {
			return err
		}
		switch {
		case run.State == join.Ended:
			_, err = d.announce(ctx, run)
		case run.LacksJob():
			_, err = d.end(ctx, run, events.FailureCancelled, "superseded by run "+position.SupersededBy)
		}
		if !errors.Is(err, events.ErrConflict) {
			return err
		}
		if err := pause.Wait(ctx); err != nil {
			return err
		}
	}
}

// runError is an error with one run of a pipeline.
type runError struct {
	run string
	err error
}

// all joins the errors with several runs.
func all(failed []runError) error {
	errs := make([]error, 0, len(failed))
	for _, f := range failed {
		errs = append(errs, f.err)
	}
	return errors.Join(errs...)
}

// only returns the error with one run, and logs those with others: delivering the event again would
// not help these, but sweeps do.
func (d *Dispatcher) only(run string, failed []runError) (own error) {
	for _, f := range failed {
		if f.run == run {
			own = f.err
			continue
		}
		d.log.Warn("run not admitted; the next sweep retries", "run", f.run, "error", f.err)
	}
	return own
}

// changeAdmission changes a pipeline's admission by compare-and-swap, and admits as many runs as
// its limit allows.
func (d *Dispatcher) changeAdmission(ctx context.Context, current deployed, change func(join.Admission) join.Admission) (join.Admission, error) {
	for pause := (events.Pause{}); ; {
		before, entry, err := readAdmission(ctx, d.admissions, current.spec.Name)
		if err != nil {
			return join.Admission{}, err
		}
		after := change(before).Admit(current.spec.Concurrency)
		if err := d.swapAdmission(ctx, entry, after); !errors.Is(err, events.ErrConflict) {
			return after, err
		}
		if err := pause.Wait(ctx); err != nil {
			return join.Admission{}, err
		}
	}
}

// swapAdmission writes an admission if it has changed. An open admission has no entry.
func (d *Dispatcher) swapAdmission(ctx context.Context, before events.Entry, after join.Admission) error {
	value, err := json.Marshal(after)
	switch {
	case err != nil || bytes.Equal(value, before.Value):
	case after.IsOpen() && before.Revision == 0:
	case after.IsOpen():
		err = d.admissions.Delete(ctx, before.Key, before.Revision)
	case before.Revision == 0:
		_, err = d.admissions.Create(ctx, before.Key, value)
	default:
		_, err = d.admissions.Update(ctx, before.Key, value, before.Revision)
	}
	if err != nil {
		return fmt.Errorf("write admission %s: %w", before.Key, err)
	}
	return nil
}

// readAdmission returns an open admission, and an entry without revision, if the pipeline has none.
func readAdmission(ctx context.Context, admissions events.KV, pipeline string) (admission join.Admission, entry events.Entry, err error) {
	entry, err = admissions.Get(ctx, pipeline)
	if errors.Is(err, events.ErrNotFound) {
		return admission, events.Entry{Key: pipeline}, nil
	}
	if err != nil {
		return admission, entry, fmt.Errorf("read admission %s: %w", pipeline, err)
	}
	if err := json.Unmarshal(entry.Value, &admission); err != nil {
		return admission, entry, fmt.Errorf("read admission %s, revision %d: %w", pipeline, entry.Revision, err)
	}
	return admission, entry, nil
}
