package console

import (
	"context"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/mask"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runs"
)

// runHistory is the events of one run in the log.
type runHistory struct {
	evs     []eventLine
	trained *events.ModelTrained
	failed  *events.Failed
	hparams *events.HParamsReady
	record  run
}

// readHistory reads the events of a run.
func (c *Console) readHistory(ctx context.Context, k key) (history runHistory, err error) {
	history.record.key = k
	for recorded, err := range c.opts.Bus.Read(ctx, events.Query{Pipeline: k.pipeline, Run: k.run}) {
		if err != nil {
			return history, err
		}
		if recorded.Err != nil {
			continue // it is a dead letter
		}
		history.add(recorded)
	}
	if len(history.evs) == 0 {
		return history, notThere("The log has no event of run %s of pipeline %s.", k.run, k.pipeline)
	}
	return history, nil
}

func (h *runHistory) add(recorded events.Recorded) {
	event := recorded.Event
	h.evs = append(h.evs, eventLine{
		Sequence: recorded.Message.Sequence, Kind: event.Data.Kind(), Source: event.Source, ID: event.ID, Stored: recorded.Message.Stored,
		event: runs.NewRunEvent(recorded),
	})
	h.record.add(recorded)
	switch data := event.Data.(type) {
	case *events.ModelTrained:
		h.trained, h.failed = data, nil
	case *events.TrainingFailed:
		h.fail(data.Failed)
	case *events.TuningFailed:
		h.fail(data.Failed)
	case *events.HParamsReady:
		h.hparams = data
	}
}

// markIgnored sets why an event of a run has no effect on it. The caller holds the lock of the
// model.
func (m *model) markIgnored(r *run, evs []eventLine) {
	spec, err := known{m}.Spec(r.pipeline, 0)
	if err != nil {
		spec = pipeline.Pipeline{} // it was removed, or can't be read: the join alone answers
	}
	all := make([]runs.RunEvent, len(evs))
	for i, f := range evs {
		all[i] = f.event
	}
	for i, why := range runs.Ignored(r.join, spec, all) {
		evs[i].Ignored = mask.Text(runs.FirstLine(why))
	}
}

// fail keeps the last failure, with a log if any had one.
func (h *runHistory) fail(failed events.Failed) {
	if h.failed != nil && failed.LogTail == "" {
		failed.Log, failed.LogTail = h.failed.Log, h.failed.LogTail
	}
	h.failed = &failed
}
