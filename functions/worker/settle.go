package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// settleTime bounds the acknowledgement of a job when the worker itself is stopping.
const settleTime = 10 * time.Second

// settle tells the letterbox what became of the job. It goes on for a moment after ctx ended, so that a job that a
// stopping worker hands back is free for others at once.
func (w *Worker) settle(ctx context.Context, function Function, claim events.Claim, task Task, err error, log *slog.Logger) error {
	stopping := ctx.Err() != nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	if errors.Is(err, events.ErrLeaseLost) {
		log.Warn("lease lost; the job belongs to another worker", "error", err)
		return nil
	}
	verdict, failure := decide(err, task.Attempt, function.Limits(task.Job))
	switch {
	case verdict == done:
		log.Info("job done")
		return claim.Done(ctx)
	case verdict == later || stopping:
		return w.handBack(ctx, claim, task, failure, stopping, log)
	default:
		log.Error("job given up", "kind", failure.Kind, "error", failure)
		return w.bury(ctx, function, claim, task, failure)
	}
}

// handBack returns the job to the queue: at once when it is we who stop, after a back-off otherwise.
func (w *Worker) handBack(ctx context.Context, claim events.Claim, task Task, failure *events.Failure, stopping bool, log *slog.Logger) error {
	delay, kind := backoff(task.Attempt), failure.Kind
	if stopping {
		delay, kind = 0, events.FailureUnavailable
	}
	log.Warn("job handed back", "kind", kind, "again_in", delay, "error", failure)
	return claim.Later(ctx, delay, kind)
}

// bury keeps DESIGN's order for never: dead letter, fact, term. Each step can be repeated, so a crash between two of
// them only repeats the first.
func (w *Worker) bury(ctx context.Context, function Function, claim events.Claim, task Task, failure *events.Failure) error {
	causes, err := w.causes(ctx, task.Job)
	if err != nil {
		return err
	}
	letter := events.DeadLetter{Message: claim.Message(), Reason: failure.Reason(), Causes: causes}
	if err := w.box.Bury(ctx, letter); err != nil {
		return fmt.Errorf("bury job %s: %w", task.Job.ID, err)
	}
	if fact, ok := function.Failed(task, failure); ok {
		if _, err := w.box.Publish(ctx, fact); err != nil {
			return fmt.Errorf("publish failure of job %s: %w", task.Job.ID, err)
		}
	}
	return claim.Never(ctx, letter.Reason)
}

// causes reads the facts that a job was made from, verbatim. One that the log no longer holds is left out.
func (w *Worker) causes(ctx context.Context, job events.Job) ([]events.Message, error) {
	var out []events.Message
	for _, cause := range job.Causes {
		for recorded, err := range w.box.Read(ctx, events.Query{From: cause.Sequence, Until: cause.Sequence + 1}) {
			if err != nil {
				return nil, fmt.Errorf("read fact %d, a cause of job %s: %w", cause.Sequence, job.ID, err)
			}
			out = append(out, recorded.Message)
		}
	}
	return out, nil
}

// reporter returns a Report that fills in whose progress it is. Losing progress is no error.
func (w *Worker) reporter(ctx context.Context, job events.Job, attempt events.Attempt) func(events.Progress) {
	return func(p events.Progress) {
		p.Job, p.Pipeline, p.Run, p.Attempt, p.Time = job.ID, job.Pipeline, job.Run, attempt.ID, w.opts.Now()
		if err := w.box.Report(ctx, p); err != nil {
			w.opts.Logger.Debug("progress lost", "job", job.ID, "error", err)
		}
	}
}

// pause waits for d or for ctx to end.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
