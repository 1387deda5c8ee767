package gc

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/storage"
)

// searching are the folders of the components that search: of pipelines with a tune job on the queue that somebody has begun. The trials of
// such a search have left states and models for trials to come and for its end, under names and by attempts that only its study knows. They
// may be as old as the search, and stay until it has ended.
func searching(ctx context.Context, box events.Letterbox, root storage.Ref) (map[storage.Ref]bool, error) {
	entries, err := entriesOf(ctx, box, events.RegisterLeases)
	if err != nil {
		return nil, err
	}
	folders := map[storage.Ref]bool{}
	for _, entry := range entries {
		message, err := box.Queued(ctx, entry.Key)
		switch {
		case errors.Is(err, events.ErrNotFound):
			continue
		case err != nil:
			return nil, fmt.Errorf("look for job %s: %w", entry.Key, err)
		}
		job, err := events.DecodeJob(message.Body)
		if err == nil && job.Function == events.FunctionTune {
			folders[root.Join(job.Pipeline, searcher)] = true
		}
	}
	return folders, nil
}

// searcher is the component of tune jobs.
const searcher = "Tuner"
