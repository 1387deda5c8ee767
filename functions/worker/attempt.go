package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// attempt is one try at a claimed job.
type attempt struct {
	bus      events.Bus
	function Function
	claim    events.Claim
	task     Task
	log      *slog.Logger
}

// withoutSlot is Task.WithoutSlot.
type withoutSlot func(ctx context.Context, wait func(context.Context) error) error

// see works on a claimed job and settles it.
func (w *Worker) see(ctx context.Context, function Function, claim events.Claim, wait withoutSlot) error {
	job, err := claim.Job()
	if err != nil {
		failure := &events.Failure{Kind: events.FailureInput, Err: err}
		w.opts.Logger.ErrorContext(ctx, "message is not a job", "subject", claim.Message().Subject, "error", err)
		return claim.Term(ctx, failure.Reason())
	}
	a := attempt{
		bus: w.bus, function: function, claim: claim,
		task: Task{Job: job, Attempt: claim.Attempt(), Report: w.reporter(ctx, job, claim.Attempt()), Prove: claim.Prove, WithoutSlot: wait, Worker: w.beats.name()},
		log:  w.opts.Logger.With("job", job.ID, "pipeline", job.Pipeline, "run", job.Run, "attempt", claim.Attempt().ID),
	}
	defer w.beats.hold(job, claim.Attempt())()
	ctx, span := w.opts.Telemetry.Job(ctx, job, claim.Message().Sequence, a.task.Attempt)
	a.log.InfoContext(ctx, "job claimed", "function", job.Function, "number", a.task.Attempt.Number)
	err = claim.KeepAlive(ctx, a.work)
	cause := reported(err)
	defer span.End(&cause)
	return a.end(ctx, err)
}

// reported returns the error of an attempt that telemetry records.
func reported(err error) error {
	if found, is := errors.AsType[over](err); is {
		return found.err
	}
	return err
}

// end settles the job. If that fails, or the lease was lost, the lease has not been released: end
// then reports that this worker is alive.
func (a attempt) end(ctx context.Context, err error) error {
	if !errors.Is(err, events.ErrLeaseLost) {
		if err = a.settle(ctx, err); err == nil {
			return nil
		}
	}
	if errors.Is(err, events.ErrLeaseLost) {
		a.log.WarnContext(ctx, "lease lost; another worker has the job", "error", err)
		err = nil
	}
	a.reportAlive(ctx)
	return err
}

// work handles the task and publishes its result, while the lease is held. If the log has a model
// of the same name that was lost, the job is handled again with a higher generation.
func (a attempt) work(ctx context.Context) error {
	if err := a.mayBegin(ctx); err != nil {
		return err
	}
	if given := a.task.Attempt.GivenUp; given != nil && !a.task.Attempt.Cancelled {
		return final{given.Failure()}
	}
	if err := a.countLost(ctx); err != nil {
		return err
	}
	for {
		evs, err := a.handle(ctx)
		if err != nil {
			return err
		}
		generation, err := a.publish(ctx, evs)
		if err != nil || generation == 0 {
			return err
		}
		if generation <= a.task.Job.Generation {
			return events.Fail(events.FailureCrash, fmt.Errorf("%s made generation %d, expected %d", a.function.Name(), generation-1, generation))
		}
		a.log.WarnContext(ctx, "the log has another model with this name; publishing this one as the next generation", "generation", generation)
		a.task.Job.Generation = generation
	}
}

// handle recovers from panics of the function, in this one place: a panic is our own error in
// handling this job.
func (a attempt) handle(ctx context.Context) (evs []events.Event, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = events.Fail(events.FailureCrash, fmt.Errorf("panic in %s: %v", a.function.Name(), p))
		}
	}()
	return a.function.Handle(ctx, a.task)
}

// stopDelay delays a job that a stopping worker hands back, so that another slot of the same
// worker, whose last request to the queue may not have ended, doesn't receive it: there the job
// would wait for a whole lease.
const stopDelay = time.Second

// settleTime limits how long a stopping worker takes to acknowledge a job.
const settleTime = 10 * time.Second

// settle acknowledges, retries or dead-letters the job by the error of the attempt. It continues
// for a moment after ctx ended, so that a job that a stopping worker hands back is soon free for
// others. It returns ErrLeaseLost before any effect if the lease is not provably held.
func (a attempt) settle(ctx context.Context, err error) error {
	stopping := ctx.Err() != nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	if found, is := errors.AsType[over](err); is {
		return a.acknowledge(ctx, found)
	}
	waiting, waits := errors.AsType[Later](err)
	how, failure := decide(err, a.task.Attempt, a.function.Limits(a.task.Job))
	switch {
	case how == ack:
		a.log.InfoContext(ctx, "job done")
		return a.claim.Ack(ctx)
	case stopping:
		a.log.InfoContext(ctx, "job handed back: this worker is stopping", "error", failure)
		return a.claim.Nak(ctx, stopDelay, events.FailureUnavailable, "its worker is stopping")
	case waits:
		a.log.InfoContext(ctx, "job handed back: it must wait", "again_in", waiting.After, "why", waiting.Why)
		return a.claim.Nak(ctx, waiting.After, events.FailureUnavailable, waiting.Why)
	case how == retry:
		delay := backoff(a.task.Attempt)
		a.log.WarnContext(ctx, "job handed back", "kind", failure.Kind, "again_in", delay, "error", failure)
		return a.claim.Nak(ctx, delay, failure.Kind, failure.Error())
	default:
		return a.giveUp(ctx, how, failure)
	}
}

// acknowledge acknowledges a job that needs no more work.
func (a attempt) acknowledge(ctx context.Context, found over) error {
	message := "job acknowledged: its outcome is in the log"
	if found.err != nil {
		message = "job acknowledged as cancelled: its run has ended"
	}
	a.log.InfoContext(ctx, message, "event", found.event.ID, "kind", found.event.Data.Kind())
	return a.claim.Ack(ctx)
}

// giveUp ends a job that is cancelled or that can't be done. The steps for the latter are a note in
// the lease, a dead letter, an event, and the acknowledgement, in this order; a cancelled job has
// only the last two. Each step can be repeated, and is taken only while the lease is provably held.
// An attempt that follows a crash between two steps finds the note, and repeats the other steps.
func (a attempt) giveUp(ctx context.Context, how disposition, failure *events.Failure) error {
	if err := a.isOver(ctx); err != nil {
		if found, is := errors.AsType[over](err); is {
			return a.acknowledge(ctx, found)
		}
		return err
	}
	if how == cancelled {
		a.log.InfoContext(ctx, "job cancelled")
	} else {
		a.log.ErrorContext(ctx, "job given up", "kind", failure.Kind, "error", failure)
		if err := a.recordGivenUp(ctx, failure); err != nil {
			return err
		}
		if err := a.deadLetter(ctx, failure); err != nil {
			return err
		}
	}
	if err := a.task.Prove(); err != nil {
		return err
	}
	if _, err := a.bus.Publish(ctx, a.function.Failed(a.task, failure)); err != nil {
		return fmt.Errorf("publish the failure of job %s: %w", a.task.Job.ID, err)
	}
	if how == cancelled {
		return a.claim.Ack(ctx)
	}
	return a.claim.Term(ctx, failure.Reason())
}

// deadLetter stores the job as a dead letter, with its reason and the events behind it.
func (a attempt) deadLetter(ctx context.Context, failure *events.Failure) error {
	causes, err := a.causes(ctx)
	if err != nil {
		return err
	}
	if err := a.task.Prove(); err != nil {
		return err
	}
	deadLetter := events.DeadLetter{Message: a.claim.Message(), Reason: failure.Reason(), Causes: causes}
	if err := a.bus.DeadLetter(ctx, deadLetter); err != nil {
		return fmt.Errorf("publish the dead letter of job %s: %w", a.task.Job.ID, err)
	}
	return nil
}

// causes reads the events that the job was made from, verbatim. It leaves out those that the log no
// longer has.
func (a attempt) causes(ctx context.Context) ([]events.Message, error) {
	var out []events.Message
	for _, cause := range a.task.Job.Causes {
		for recorded, err := range a.bus.Read(ctx, events.Query{From: cause.Sequence, Until: cause.Sequence + 1}) {
			if err != nil {
				return nil, fmt.Errorf("read event %d, a cause of job %s: %w", cause.Sequence, a.task.Job.ID, err)
			}
			out = append(out, recorded.Message)
		}
	}
	return out, nil
}

// over is the error of a job that is acknowledged without work: the log holds its outcome, or the
// end of its run.
type over struct {
	why   string
	event events.Event // in the log
	err   error        // for telemetry; nil if the job has its outcome
}

func (o over) Error() string { return o.why }
func (o over) Unwrap() error { return o.err }

// isOver returns an over if the log holds the outcome of this very job, or the end of its run
// without one; nil if the job is still to be done. It reads the run's events behind those that the
// job was made from, at the leader of the log, which has every acknowledged event.
//
// An outcome counts whatever execution it names: a module, an input or a builtin may have changed
// since, and the same job would be another execution now. A job that is retried from its dead
// letter has another request, and a replay has another id: see events.Announces.
func (a attempt) isOver(ctx context.Context) error {
	job, caused := a.task.Job, uint64(0)
	for _, cause := range job.Causes {
		caused = max(caused, cause.Sequence)
	}
	for recorded, err := range a.bus.Read(ctx, events.Query{Pipeline: job.Pipeline, Run: job.Run, From: caused + 1}) {
		switch {
		case err != nil:
			return fmt.Errorf("read the events of run %s, before job %s: %w", job.Run, job.ID, err)
		case recorded.Err != nil:
		case events.Announces(recorded.Event, job):
			return over{why: "its outcome was published before", event: recorded.Event}
		case events.EndsRunWithoutJob(recorded.Event):
			err := events.Fail(events.FailureCancelled, errors.New("its run has ended"))
			return over{why: "its run has ended", event: recorded.Event, err: err}
		}
	}
	return nil
}

// mayBegin is isOver before the job is worked on. The job of an ended run is still worked on if it
// is cancelled: its function then ends what earlier attempts have begun, and publishes nothing.
func (a attempt) mayBegin(ctx context.Context) error {
	err := a.isOver(ctx)
	if found, is := errors.AsType[over](err); is && found.err != nil && a.task.Attempt.Cancelled {
		return nil
	}
	return err
}

// publish publishes the events of the task. If the log has another result under the same name, one
// that was lost before its generation was counted, publish returns the generation that the task's
// result must have instead; else 0. It returns an over, and publishes nothing, if the job's outcome
// or its run's end is in the log by now.
func (a attempt) publish(ctx context.Context, evs []events.Event) (generation int, err error) {
	if len(evs) > 0 {
		if err := a.isOver(ctx); err != nil {
			return 0, err
		}
	}
	for _, event := range evs {
		if err := a.task.Prove(); err != nil {
			return 0, err
		}
		receipt, err := a.bus.Publish(ctx, event)
		if err != nil {
			return 0, unpublished(event, err)
		}
		output, ok := events.OutputOf(event.Data)
		if !ok || !receipt.Duplicate {
			continue
		}
		same, err := a.names(ctx, receipt.Sequence, output.URI)
		if err != nil {
			return 0, err
		}
		if !same {
			return output.Generation + 1, nil
		}
	}
	return 0, nil
}

// names reports whether an event of the log names that result.
func (a attempt) names(ctx context.Context, sequence uint64, uri string) (bool, error) {
	for recorded, err := range a.bus.Read(ctx, events.Query{From: sequence, Until: sequence + 1}) {
		if err != nil {
			return false, fmt.Errorf("read event %d, which was published before: %w", sequence, err)
		}
		published, _ := events.OutputOf(recorded.Event.Data)
		return published.URI == uri, nil
	}
	return false, fmt.Errorf("read event %d, which was published before: %w", sequence, events.ErrNotFound)
}

// unpublished returns the error of a job whose event the bus refused: an event that is invalid, or
// too large, is never accepted, however often the job is done. A permission that the worker lacks
// may be granted later.
func unpublished(event events.Event, err error) error {
	err = fmt.Errorf("publish %s of run %s: %w", event.Data.Kind(), event.Run, err)
	if _, invalid := errors.AsType[*events.Invalid](err); invalid || errors.Is(err, events.ErrTooLarge) {
		return events.Fail(events.FailureCheck, err)
	}
	return err
}
