package jetstream

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/stoker-ml/stoker/events"
)

const streamProgress = "PROGRESS"

// LastProgress returns the last report of a run's job, for a program that did not watch. It returns
// events.ErrNotFound if there is none, or it is too old.
func (b *Bus) LastProgress(ctx context.Context, pipeline, run, job string) (events.Progress, error) {
	var p events.Progress
	subject := events.ProgressSubject(events.Progress{Pipeline: pipeline, Run: run, Job: job})
	stream, err := b.js.Stream(ctx, streamProgress)
	if err != nil {
		return p, fmt.Errorf("read progress of job %s: %w", job, b.explain(ctx, err))
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
