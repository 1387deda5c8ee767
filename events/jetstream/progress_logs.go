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
func (b *Letterbox) Logs(ctx context.Context, pipeline, run string, follow bool) iter.Seq2[events.Progress, error] {
	return func(yield func(events.Progress, error) bool) {
		scan := scan{box: b, stream: streamProgress, filters: []string{events.LogFilter(pipeline, run)}, next: 1, follow: follow}
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
