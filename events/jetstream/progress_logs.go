package jetstream

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/stoker-ml/stoker/events"
)

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
