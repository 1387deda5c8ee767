package replay

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
)

// RunOf returns the run that a dead letter belongs to; "" for the parts that an unreadable message
// does not have.
func RunOf(deadLetter events.DeadLetter) (pipeline, run string) {
	switch deadLetter.Message.Stream {
	case events.StreamJobs:
		if job, err := events.DecodeJob(deadLetter.Message.Body); err == nil {
			return job.Pipeline, job.Run
		}
	case events.StreamEvents:
		pipeline, run, _ = events.ParseEventSubject(deadLetter.Message.Subject)
		return pipeline, run
	}
	return "", ""
}

// Handler handles an event of the log, also repeatedly, like *dispatch.Dispatcher.
type Handler interface {
	Handle(ctx context.Context, recorded events.Recorded) error
}

// Retry retries the message of a dead letter, and then deletes the dead letter. A job is enqueued
// as it was, except for its Request, which identifies the retry; its attempts are counted anew. An
// event is read from the log, which has it unchanged, and handled as if it had just arrived. If it
// is refused again, the dead letter stays, and the error says why. A bucket notification is
// published again for the bridge. Retrying twice, also concurrently, or after an incomplete retry,
// has the effect of one retry. A job whose run has ended without it is refused, because no worker
// would do it.
func Retry(ctx context.Context, bus events.Bus, d Handler, deadLetter events.DeadLetter) error {
	var err error
	switch deadLetter.Message.Stream {
	case events.StreamJobs:
		err = retryJob(ctx, bus, deadLetter)
	case events.StreamEvents:
		err = retryEvent(ctx, bus, d, deadLetter.Message.Sequence)
	case events.StreamBuckets:
		err = retryNotice(ctx, bus, deadLetter.Message)
	default:
		err = fmt.Errorf("only events, jobs and bucket notifications can be retried; this message is from %s", deadLetter.Message.Stream)
	}
	if err != nil {
		return fmt.Errorf("retry dead letter %d: %w", deadLetter.Sequence, err)
	}
	// Another retry has deleted it.
	if err := bus.DeleteDeadLetter(ctx, deadLetter.Sequence); !errors.Is(err, events.ErrNotFound) {
		return err
	}
	return nil
}

func retryJob(ctx context.Context, bus events.Bus, deadLetter events.DeadLetter) error {
	if len(deadLetter.Message.Body) == 0 { // another client removed it from the queue
		return fmt.Errorf("message %d is gone from the queue; `stoker replay` enqueues the jobs that runs lack", deadLetter.Message.Sequence)
	}
	if deadLetter.Message.Cut != nil {
		return fmt.Errorf("the dead letter holds %d of the job's %d bytes", len(deadLetter.Message.Body), deadLetter.Message.Cut.Bytes)
	}
	job, err := events.DecodeJob(deadLetter.Message.Body)
	if err != nil {
		return fmt.Errorf("message %d of the queue is not a job: %w", deadLetter.Message.Sequence, err)
	}
	if err := checkRunGoesOn(ctx, bus, job); err != nil {
		return err
	}
	job.Request = requestOf(deadLetter)
	return reoffer(ctx, bus, job, deadLetter)
}

// checkRunGoesOn returns an error if the dispatcher has ended the job's run, as it does after a
// search that failed. It reads the log at its leader.
func checkRunGoesOn(ctx context.Context, bus events.EventLog, job events.Job) error {
	for recorded, err := range bus.Read(ctx, events.Query{Pipeline: job.Pipeline, Run: job.Run}) {
		if err != nil {
			return fmt.Errorf("read the events of run %s: %w", job.Run, err)
		}
		if recorded.Err == nil && events.EndsRunWithoutJob(recorded.Event) {
			return fmt.Errorf("run %s of pipeline %s has ended, so that its job would not be done; "+
				"`stoker runs rerun` starts it again, with the pipeline as it is now", job.Run, job.Pipeline)
		}
	}
	return nil
}

// requestOf returns the name of a retry. The dead letter's sequence alone would repeat if the
// stream is deleted and created again. The message contains the previous request, so no two retries
// of a job have the same name.
func requestOf(deadLetter events.DeadLetter) string {
	const digits = 12
	return fmt.Sprintf("dead-%d-%s", deadLetter.Sequence, events.DerivedID(deadLetter.Message.Subject, string(deadLetter.Message.Body))[:digits])
}

// reoffer enqueues a job, unless that was done before the dead letter could be deleted. While
// another message of the job exists, enqueueing has no effect, and the dead letter must stay: a
// worker that gives a job up publishes the dead letter first, and then removes the job from the
// queue.
func reoffer(ctx context.Context, bus events.JobQueue, job events.Job, deadLetter events.DeadLetter) error {
	queued, err := bus.Queued(ctx, job.ID)
	switch {
	case errors.Is(err, events.ErrNotFound):
		return bus.Enqueue(ctx, job)
	case err != nil:
		return err
	case queued.Sequence == deadLetter.Message.Sequence:
		return fmt.Errorf("job %s is still on the queue: its worker has not acknowledged it yet; retry in a moment", job.ID)
	}
	if there, err := events.DecodeJob(queued.Body); err != nil || there.Request != job.Request {
		return fmt.Errorf("job %s is already on the queue again, as message %d; retry when it has ended", job.ID, queued.Sequence)
	}
	return nil
}

func retryNotice(ctx context.Context, bus events.BucketNotifications, message events.Message) error {
	from, ok := events.ParseBucketSubject(message.Subject)
	if !ok || message.Cut != nil {
		return fmt.Errorf("the dead letter does not hold the whole notification of %s", message.Subject)
	}
	return bus.Notify(ctx, from, message.Body)
}

func retryEvent(ctx context.Context, bus events.EventLog, d Handler, sequence uint64) error {
	recorded, err := readEventOrData(ctx, bus, sequence)
	if err != nil {
		return err
	}
	if recorded.Err != nil {
		return fmt.Errorf("event %d can't be read, and events never change; publish a correct one: %w", sequence, recorded.Err)
	}
	err = d.Handle(ctx, recorded)
	if _, again := events.AsKind(err, events.FailureInput); again {
		return fmt.Errorf("event %d is refused again: %w", sequence, err)
	}
	return err
}

func readEventOrData(ctx context.Context, bus events.EventLog, sequence uint64) (events.Recorded, error) {
	for recorded, err := range bus.Read(ctx, events.Query{From: sequence, Until: sequence + 1}) {
		if err != nil {
			return recorded, fmt.Errorf("read event %d: %w", sequence, err)
		}
		return recorded, nil
	}
	return events.Recorded{}, fmt.Errorf("read event %d: %w", sequence, errors.Join(events.ErrNotFound, context.Cause(ctx)))
}
