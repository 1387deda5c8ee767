package replay

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
)

// RunOf says which run a dead letter is about; "" for what can't be known of a message that nobody can read.
func RunOf(letter events.DeadLetter) (pipeline, run string) {
	switch letter.Message.Stream {
	case events.StreamJobs:
		if job, err := events.DecodeJob(letter.Message.Body); err == nil {
			return job.Pipeline, job.Run
		}
	case events.StreamFacts:
		pipeline, run, _ = events.ParseFactSubject(letter.Message.Subject)
		return pipeline, run
	}
	return "", ""
}

// Handler handles a fact of the log, again too: *dispatch.Dispatcher.
type Handler interface {
	Handle(ctx context.Context, recorded events.Recorded) error
}

// Retry gives the message of a dead letter another try, and drops the letter then. A job goes back on the queue as it was, but
// for its Request, which says that it was asked for again; its attempts are counted anew. A fact is read from the log, where
// it stands unchanged, and handled as if it had just come. If it is refused again, the letter stays, and the error says why. What a
// store told of a bucket is told again, to the bridge.
// Retrying twice, also at once, or after half of it was done, does it once.
func Retry(ctx context.Context, box events.Letterbox, d Handler, letter events.DeadLetter) error {
	var err error
	switch letter.Message.Stream {
	case events.StreamJobs:
		err = retryJob(ctx, box, letter)
	case events.StreamFacts:
		err = retryFact(ctx, box, d, letter.Message.Sequence)
	case events.StreamBuckets:
		err = retryNotice(ctx, box, letter.Message)
	default:
		err = fmt.Errorf("only facts, jobs and notices of buckets can be tried again, this came from %s", letter.Message.Stream)
	}
	if err != nil {
		return fmt.Errorf("retry dead letter %d: %w", letter.Sequence, err)
	}
	if err := box.Drop(ctx, letter.Sequence); !errors.Is(err, events.ErrNotFound) { // who retried it too has dropped it
		return err
	}
	return nil
}

func retryJob(ctx context.Context, box events.Letterbox, letter events.DeadLetter) error {
	if len(letter.Message.Body) == 0 { // another client took it off the queue
		return fmt.Errorf("message %d is gone from the queue; `stoker replay` offers the jobs that its runs lack", letter.Message.Sequence)
	}
	if letter.Message.Cut != nil {
		return fmt.Errorf("the letter holds %d of the job's %d bytes", len(letter.Message.Body), letter.Message.Cut.Bytes)
	}
	job, err := events.DecodeJob(letter.Message.Body)
	if err != nil {
		return fmt.Errorf("message %d of the queue is no job: %w", letter.Message.Sequence, err)
	}
	job.Request = requestOf(letter)
	return reoffer(ctx, box, job, letter)
}

// requestOf names a retry. The letter's sequence alone would repeat where DEAD is removed and made again; the message holds the
// request before, so that no two retries of a job have the same name.
func requestOf(letter events.DeadLetter) string {
	const digits = 12
	return fmt.Sprintf("dead-%d-%s", letter.Sequence, events.DerivedID(letter.Message.Subject, string(letter.Message.Body))[:digits])
}

// reoffer puts a job on the queue, if that was not done before the letter could be dropped. While another message of the job is there,
// offering it has no effect, and the letter must stay: whoever gave the job up buries it first, and takes it off its queue then.
func reoffer(ctx context.Context, box events.Letterbox, job events.Job, letter events.DeadLetter) error {
	queued, err := box.Queued(ctx, job.ID)
	switch {
	case errors.Is(err, events.ErrNotFound):
		return box.Offer(ctx, job)
	case err != nil:
		return err
	case queued.Sequence == letter.Message.Sequence:
		return fmt.Errorf("job %s is still on the queue: its worker has not taken it off yet; try again in a moment", job.ID)
	}
	if there, err := events.DecodeJob(queued.Body); err != nil || there.Request != job.Request {
		return fmt.Errorf("job %s is on the queue again already, as message %d; try again when that has ended", job.ID, queued.Sequence)
	}
	return nil
}

func retryNotice(ctx context.Context, box events.Letterbox, message events.Message) error {
	from, ok := events.ParseBucketSubject(message.Subject)
	if !ok || message.Cut != nil {
		return fmt.Errorf("the letter does not hold the whole notice of %s", message.Subject)
	}
	return box.Notify(ctx, from, message.Body)
}

func retryFact(ctx context.Context, box events.Letterbox, d Handler, sequence uint64) error {
	recorded, err := readFact(ctx, box, sequence)
	if err != nil {
		return err
	}
	if recorded.Err != nil {
		return fmt.Errorf("fact %d can't be read, and facts never change; publish a right one: %w", sequence, recorded.Err)
	}
	err = d.Handle(ctx, recorded)
	if _, again := events.AsKind(err, events.FailureInput); again {
		return fmt.Errorf("fact %d is refused again: %w", sequence, err)
	}
	return err
}

func readFact(ctx context.Context, box events.Letterbox, sequence uint64) (events.Recorded, error) {
	for recorded, err := range box.Read(ctx, events.Query{From: sequence, Until: sequence + 1}) {
		if err != nil {
			return recorded, fmt.Errorf("read fact %d: %w", sequence, err)
		}
		return recorded, nil
	}
	return events.Recorded{}, fmt.Errorf("read fact %d: %w", sequence, errors.Join(events.ErrNotFound, context.Cause(ctx)))
}
