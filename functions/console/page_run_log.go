package console

import (
	"context"
	"errors"

	"github.com/stoker-ml/stoker/functions/internal/mask"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/storage"
)

// addLog adds the end of the module's log: what the bus has of it while the module runs, and what
// the store has when the job has ended.
func (c *Console) addLog(ctx context.Context, view *runView, timeline *runs.Timeline) {
	if !view.Over() {
		c.addLiveLog(ctx, view)
		return
	}
	if timeline.Failed != nil {
		if whole := mask.Text(runs.PlainText(timeline.Failed.Message)); whole != plain(view.What()) {
			view.Failure = whole
		}
		view.Log = mask.Text(runs.PlainText(timeline.Failed.LogTail))
	}
	address := logAddress(timeline)
	if address == "" {
		return
	}
	ref, err := c.ours(address)
	if err != nil {
		view.LogNote = err.Error()
		return
	}
	text, whole, err := c.tail(ctx, ref)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		view.LogNote = "The store has no log of this run any more."
	case err != nil:
		view.LogNote = "The log can't be read: " + err.Error()
	default:
		view.Log, view.LogWhole, view.LogURL = mask.Text(runs.PlainText(text)), whole, link("/download", "ref", address)
	}
}

// addLiveLog is addLog for a run that is being worked on, or waits for it.
func (c *Console) addLiveLog(ctx context.Context, view *runView) {
	const kept = "The whole log is kept in the store when the job has ended."
	view.LogNote = kept
	text, err := c.logs.end(ctx, job{key{Pipeline: view.Pipeline, Run: view.Run}, view.Job})
	if err != nil {
		view.LogNote = "What it prints can't be read now: " + mask.Text(err.Error()) + ". " + kept
		return
	}
	view.Log, view.LogLive = mask.Text(runs.PlainText(text)), text != ""
}

func logAddress(timeline *runs.Timeline) string {
	if timeline.Failed != nil {
		return timeline.Failed.Log
	}
	trained := timeline.Trained()
	if trained == nil {
		return ""
	}
	ref, err := storage.ParseRef(trained.Model.URI)
	if err != nil {
		return ""
	}
	place, ok := storage.PlaceOf(ref)
	if !ok {
		return ""
	}
	return place.Log().String()
}
