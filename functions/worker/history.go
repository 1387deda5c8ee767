package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
)

// over is why a job is acknowledged without work: the log holds its outcome, or the end of its run.
type over struct {
	why   string
	event events.Event // in the log
	err   error        // for telemetry; nil where the job has its outcome
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
			return fmt.Errorf("read what the log holds of run %s, before job %s: %w", job.Run, job.ID, err)
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
