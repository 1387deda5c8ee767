package main

import (
	"context"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/replay"
)

// pinnedHelp is for whoever means to mend a pipeline and try again.
const pinnedHelp = "A job keeps the pipeline as it was when its facts had come, whatever was applied since: `stoker runs rerun` starts\n" +
	"the inputs of a run again with the pipeline as it is now."

// pinnedNote says the same of one job.
func pinnedNote(revision uint64) string {
	return fmt.Sprintf("a retry uses the pipeline as it was at revision %d; `stoker runs rerun` uses the pipeline as it is now", revision)
}

// warnPinned warns who tries a job again that a newer revision of its pipeline is applied: that one will not be used. It is advice
// alone, and nothing that goes wrong with it holds up the retry.
func (a *app) warnPinned(ctx context.Context, box events.Letterbox, line replay.Letter) {
	job, ok := replay.JobOf(line.Letter)
	if !ok {
		return
	}
	pipelines, err := box.Register(ctx, events.RegisterPipelines)
	if err != nil {
		return
	}
	if applied, err := pipelines.Get(ctx, job.Pipeline); err == nil && applied.Revision > job.Revision {
		fmt.Fprintf(a.notes(), "dead letter %d: revision %d of pipeline %s is applied, but %s\n",
			line.Number, applied.Revision, job.Pipeline, pinnedNote(job.Revision))
	}
}
