package jetstream

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/stoker-ml/stoker/events"
)

// Logs yields what the jobs of a run have printed, in the order in which it came: of each job the last parts that are kept
// (events.LogParts), then, with follow, what comes until ctx ends. What was lost, the offsets of the parts say. "" matches any pipeline or
// run.
func (b *Bus) Logs(ctx context.Context, pipeline, run string, follow bool) iter.Seq2[events.Progress, error] {
	return b.logs(ctx, events.LogFilter(pipeline, run), follow)
}

// JobLog yields the last parts that are kept of what one job of a run has printed, in the order in which they came: 256 KiB at most. A
// search for hyperparameters has a job for each trial, whose logs are not among it.
func (b *Bus) JobLog(ctx context.Context, pipeline, run, job string) iter.Seq2[events.Progress, error] {
	return b.logs(ctx, events.JobLogFilter(pipeline, run, job), false)
}

func (b *Bus) logs(ctx context.Context, filter string, follow bool) iter.Seq2[events.Progress, error] {
	return func(yield func(events.Progress, error) bool) {
		scan := scan{bus: b, stream: streamProgress, filters: []string{filter}, next: 1, follow: follow}
		for message, err := range scan.messages(ctx) {
			if err != nil {
				yield(events.Progress{}, fmt.Errorf("read logs: %w", b.explain(ctx, err)))
				return
			}
			var p events.Progress
			if json.Unmarshal(message.Body, &p) == nil && p.Log != nil && !yield(p, nil) {
				return
			}
		}
	}
}
