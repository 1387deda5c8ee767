package console

import (
	"context"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/mask"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runs"
)

// toldOf is what the log has of one run.
type toldOf struct {
	facts   []factLine
	trained *events.ModelTrained
	failed  *events.Failed
	hparams *events.HParamsReady
	record  run
}

// told reads the facts of a run.
func (c *Console) told(ctx context.Context, k key) (told toldOf, err error) {
	told.record.key = k
	for recorded, err := range c.opts.Box.Read(ctx, events.Query{Pipeline: k.pipeline, Run: k.run}) {
		if err != nil {
			return told, err
		}
		if recorded.Err != nil {
			continue // it lies in DEAD
		}
		told.add(recorded)
	}
	if len(told.facts) == 0 {
		return told, notThere("No fact of run %s of pipeline %s has come.", k.run, k.pipeline)
	}
	return told, nil
}

func (t *toldOf) add(recorded events.Recorded) {
	fact := recorded.Fact
	t.facts = append(t.facts, factLine{
		Sequence: recorded.Message.Sequence, Kind: fact.Data.Kind(), Source: fact.Source, ID: fact.ID, Stored: recorded.Message.Stored,
		event: runs.NewRunEvent(recorded),
	})
	t.record.tell(recorded)
	switch data := fact.Data.(type) {
	case *events.ModelTrained:
		t.trained, t.failed = data, nil
	case *events.TrainingFailed:
		t.fail(data.Failed)
	case *events.TuningFailed:
		t.fail(data.Failed)
	case *events.HParamsReady:
		t.hparams = data
	}
}

// markIgnored says of each event of a run that has no effect on it why. The lock of the model is held.
func (m *model) markIgnored(r *run, facts []factLine) {
	spec, err := known{m}.Spec(r.pipeline, 0)
	if err != nil {
		spec = pipeline.Pipeline{} // it was removed, or can't be read: the join alone answers
	}
	all := make([]runs.RunEvent, len(facts))
	for i, f := range facts {
		all[i] = f.event
	}
	for i, why := range runs.Ignored(r.join, spec, all) {
		facts[i].Ignored = mask.Text(runs.FirstLine(why))
	}
}

// fail keeps the last failure, with a log if any had one.
func (t *toldOf) fail(failed events.Failed) {
	if t.failed != nil && failed.LogTail == "" {
		failed.Log, failed.LogTail = t.failed.Log, t.failed.LogTail
	}
	t.failed = &failed
}
