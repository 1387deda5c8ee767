package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
)

// Report implements events.Bus. It waits for no answer.
func (b *Bus) Report(ctx context.Context, p events.Progress) error {
	body, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encode progress of job %s: %w", p.Job, err)
	}
	if err := b.nc.Publish(events.ProgressSubject(p), body); err != nil {
		return fmt.Errorf("report progress of job %s: %w", p.Job, b.explain(ctx, err))
	}
	return nil
}

// Watch implements events.Bus. It listens from the call on.
func (b *Bus) Watch(ctx context.Context, pipeline, run string) iter.Seq2[events.Progress, error] {
	subject := events.ProgressFilter(pipeline, run)
	listening, done := b.refusals.expect(ctx, subject)
	sub, err := b.nc.SubscribeSync(subject)
	if err == nil {
		err = b.flush(ctx)
	}
	if err != nil {
		done()
		return failing[events.Progress](fmt.Errorf("watch progress: %w", b.explain(ctx, err)))
	}
	// The connection may be gone, and the subscription with it.
	stop := context.AfterFunc(ctx, func() { _ = sub.Unsubscribe() })
	return func(yield func(events.Progress, error) bool) {
		defer func() { stop(); done(); _ = sub.Unsubscribe() }()
		bounded, unbind := b.untilClosed(listening)
		defer unbind()
		for {
			msg, err := sub.NextMsgWithContext(bounded)
			switch {
			case ctx.Err() != nil:
				return
			case errors.Is(err, nats.ErrSlowConsumer):
				continue // some were lost, which is allowed
			case err != nil:
				yield(events.Progress{}, fmt.Errorf("watch progress: %w", b.explain(bounded, err)))
				return
			}
			var p events.Progress
			if json.Unmarshal(msg.Data, &p) == nil && !yield(p, nil) {
				return
			}
		}
	}
}

// failing yields err and ends.
func failing[T any](err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		yield(none, err)
	}
}

const streamProgress = "PROGRESS"

// LastProgress returns the last report of a run's job, for a program that did not watch. It returns
// events.ErrNotFound if there is none, it is too old, or the server has lost it by a restart.
func (b *Bus) LastProgress(ctx context.Context, pipeline, run, job string) (events.Progress, error) {
	var p events.Progress
	subject := events.ProgressSubject(events.Progress{Pipeline: pipeline, Run: run, Job: job})
	stream, err := b.js.Stream(ctx, streamProgress)
	if err != nil {
		return p, fmt.Errorf("read progress of job %s: %w", job, forgotten(b.explain(ctx, err), streamProgress))
	}
	msg, err := stream.GetLastMsgForSubject(ctx, subject)
	if err != nil {
		return p, fmt.Errorf("read progress of job %s: %w", job, b.explain(ctx, err))
	}
	if err := json.Unmarshal(msg.Data, &p); err != nil {
		return p, fmt.Errorf("read progress of job %s: %w", job, err)
	}
	return p, nil
}

// forgotten says why a stream does not exist, if that is the error: it is in memory.
func forgotten(err error, stream string) error {
	if !hasCode(err, jetstream.JSErrCodeStreamNotFound) {
		return err
	}
	return fmt.Errorf("%w: no stream %s: a single NATS server loses it when it restarts; `stoker streams apply` creates it again",
		events.ErrNotFound, stream)
}

// Logs yields the logs of the jobs of a run, in order of arrival: the last parts kept of each job
// (events.LogParts), then, with follow, new ones until ctx ends. The offsets of the parts show what
// was lost. "" matches any pipeline or run.
func (b *Bus) Logs(ctx context.Context, pipeline, run string, follow bool) iter.Seq2[events.Progress, error] {
	return b.logs(ctx, events.LogFilter(pipeline, run), follow)
}

// JobLog yields the last parts kept of the log of one job of a run, in order of arrival: 256 KiB at
// most. A search for hyperparameters has a job for each trial, whose logs are not included.
func (b *Bus) JobLog(ctx context.Context, pipeline, run, job string) iter.Seq2[events.Progress, error] {
	return b.logs(ctx, events.JobLogFilter(pipeline, run, job), false)
}

func (b *Bus) logs(ctx context.Context, filter string, follow bool) iter.Seq2[events.Progress, error] {
	return func(yield func(events.Progress, error) bool) {
		scan := scan{bus: b, stream: streamProgress, filters: []string{filter}, next: 1, follow: follow}
		for message, err := range scan.messages(ctx) {
			if err != nil {
				yield(events.Progress{}, fmt.Errorf("read logs: %w", forgotten(b.explain(ctx, err), streamProgress)))
				return
			}
			var p events.Progress
			if json.Unmarshal(message.Body, &p) == nil && p.Log != nil && !yield(p, nil) {
				return
			}
		}
	}
}
