package dispatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

// ErrTooLate says that a run can't be cancelled any more: something has come of it.
var ErrTooLate = errors.New("too late")

// Pause keeps the runs of a pipeline at its gate from now on. Jobs that are on the queue go on, and so does a run that a dispatcher has
// let pass and is giving its job in this moment. events.ErrNotFound if there is no such pipeline.
func Pause(ctx context.Context, box events.Letterbox, pipeline string) error {
	return setPaused(ctx, box, pipeline, true)
}

// Resume lets the runs of a pipeline go on, as many as its concurrency allows, and offers their jobs.
func Resume(ctx context.Context, box events.Letterbox, pipeline string) error {
	return setPaused(ctx, box, pipeline, false)
}

func setPaused(ctx context.Context, box events.Letterbox, pipeline string, paused bool) error {
	d, current, err := open(ctx, box, pipeline)
	if err == nil {
		err = d.gates.Sync(ctx) // where the gate says so already, nothing is written that would be refused if it were old
	}
	if err != nil {
		return err
	}
	return d.pass(ctx, current, func(g join.Gate) join.Gate { g.Paused = paused; return g })
}

// open is a dispatcher for one thing to be done by hand.
func open(ctx context.Context, box events.Letterbox, pipeline string) (*Dispatcher, deployed, error) {
	d, err := New(ctx, box, nil)
	if err != nil {
		return nil, deployed{}, err
	}
	if _, err := d.pipelines.Get(ctx, pipeline); err != nil {
		return nil, deployed{}, fmt.Errorf("pipeline %s: %w", pipeline, err)
	}
	current, err := d.pipeline(ctx, pipeline)
	return d, current, err
}

// Cancelled says how far a run was that was cancelled.
type Cancelled struct {
	Job string // that is asked to stop: a fact will tell what came of it. "": the run had none; it has ended, and a fact says so
}

// Cancel ends a run, or asks the worker that has its job to. It returns ErrTooLate if something has come of the run already, and
// events.ErrNotFound if no fact of it is known. Cancelling again is success for as long as the job has not ended.
func Cancel(ctx context.Context, box events.Letterbox, pipeline, run string) (Cancelled, error) {
	d, current, err := open(ctx, box, pipeline)
	if errors.Is(err, events.ErrNotFound) { // it may have been removed: its runs can be cancelled still
		d, err = New(ctx, box, nil)
		current.spec.Name = pipeline
	}
	if err != nil {
		return Cancelled{}, err
	}
	for pause := (events.Pause{}); ; {
		found, err := d.known(ctx, current, run)
		if err != nil {
			return Cancelled{}, err
		}
		switch found.State {
		case join.Dispatched:
			return d.cancelJob(ctx, found, current)
		case join.Ended:
			return Cancelled{}, errors.Join(tooLate(found.Join, found.Ending.Message), d.tell(ctx, found))
		}
		over, err := d.cancelRun(ctx, found, current)
		if over || err != nil && !errors.Is(err, events.ErrConflict) {
			return Cancelled{}, err
		} // else it has gone on meanwhile, or has a job now
		if err := pause.Wait(ctx); err != nil {
			return Cancelled{}, fmt.Errorf("cancel run %s of %s: %w", run, pipeline, err)
		}
	}
}

// cancelRun ends a run that has no job. Its join decides: a dispatcher that is about to give it its job marks the join first. A run that
// waits ends with the events that the log holds of it: dispatchers do not handle them in their order, and may have the older ones yet
// to come.
func (d *Dispatcher) cancelRun(ctx context.Context, run held, current deployed) (over bool, err error) {
	if run.State == join.Waiting {
		facts, err := d.factsOf(ctx, run.Join, 0)
		if err != nil {
			return false, err
		}
		if run.Join = run.Decide(current.spec, facts); run.TuningDue() {
			run.Join = run.Untuned() // it has no tune job yet, and gets none
		}
	}
	if err := d.cancel(ctx, run, "cancelled"); err != nil {
		return false, err
	}
	err = d.pass(ctx, current, func(g join.Gate) join.Gate { return g.Leave(run.Run) })
	return true, d.only(run.Run, err)
}

// cancelJob asks for the end of a job that was offered, unless something has come of it and nobody is at it again. One that the bus has
// lost is put on the queue again, for only a worker that finds it cancelled tells so.
func (d *Dispatcher) cancelJob(ctx context.Context, run held, current deployed) (Cancelled, error) {
	outcome, told, err := d.outcome(ctx, run.Join)
	if err != nil {
		return Cancelled{}, err
	}
	if told {
		again, err := d.tried(ctx, run.Job)
		if err != nil {
			return Cancelled{}, err
		}
		if !again {
			return Cancelled{}, tooLate(run.Join, string(outcome.Fact.Data.Kind()))
		}
	} else {
		err = d.offerAgain(ctx, run, current)
	}
	if err := errors.Join(err, d.box.Cancel(ctx, run.Job)); err != nil {
		return Cancelled{}, fmt.Errorf("cancel job %s of run %s: %w", run.Job, run.Run, err)
	}
	return Cancelled{Job: run.Job}, nil
}

// tried says whether a job that has not ended has been taken by a worker: its lease is there, and counts attempts.
func (d *Dispatcher) tried(ctx context.Context, job string) (bool, error) {
	leases, err := d.box.Register(ctx, events.RegisterLeases)
	if err != nil {
		return false, fmt.Errorf("open leases: %w", err)
	}
	entry, err := leases.Get(ctx, job)
	if errors.Is(err, events.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read lease of job %s: %w", job, err)
	}
	lease, _ := events.DecodeLease(entry) // one that can't be read counts as tried
	return lease.Number > 0, nil
}

func tooLate(j join.Join, what string) error {
	return fmt.Errorf("cancel run %s of %s: %w: %s", j.Run, j.Pipeline, ErrTooLate, what)
}
