package dispatch

import (
	"context"
	"fmt"
	"slices"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

// factsOf are the facts of a join's run that the log holds below a sequence, 0 for all, together with those that the join holds: the one
// that was refused when it came is among them if it was handled again.
func (d *Dispatcher) factsOf(ctx context.Context, j join.Join, until uint64) ([]join.Pinned, error) {
	past, err := d.past(ctx, j.Pipeline, j.Run)
	return append(slices.Clip(j.Facts), past.Facts(until)...), err
}

// past is all that the log holds of a run.
func (d *Dispatcher) past(ctx context.Context, pipeline, run string) (*join.Past, error) {
	var past join.Past
	for recorded, err := range d.box.Read(ctx, events.Query{Pipeline: pipeline, Run: run}) {
		if err != nil {
			return &past, fmt.Errorf("read the facts of run %s of %s: %w", run, pipeline, err)
		}
		past.Add(recorded)
	}
	return &past, nil
}

// usable says whether a message of the log holds a fact that is taken into account at all: what was refused for its content never is.
func usable(r events.Recorded) bool { return r.Err == nil && refuseInline(r.Fact.Data) == nil }

// latest looks up the facts of the pipeline that were stored before the join completed. The log never changes below that
// sequence, so that a replay finds the same.
func (d *Dispatcher) latest(ctx context.Context, j join.Join, wants join.Wants) (latest join.Latest, err error) {
	if wants.Hyperparameters {
		err = d.newest(ctx, j.Pipeline, events.KindHParamsReady, j.Completed(), func(data events.Data) {
			latest.Hyperparameters = data.(*events.HParamsReady).Hyperparameters
		})
	}
	if err == nil && wants.BaseModel {
		err = d.newest(ctx, j.Pipeline, events.KindModelTrained, j.Completed(), func(data events.Data) {
			latest.BaseModel = data.(*events.ModelTrained).Model.URI
		})
	}
	if err == nil && wants.Blessed {
		latest.BaseModel, err = Blessed(ctx, d.box, j.Pipeline, j.Completed())
	}
	if err == nil && wants.Spans > 0 {
		latest.Spans, err = d.spans(ctx, j, wants.Spans)
	}
	return latest, err
}

// outcome is the newest event that says what came of a run's last job; false if there is none yet.
func (d *Dispatcher) outcome(ctx context.Context, j join.Join) (outcome events.Recorded, found bool, err error) {
	query := events.Query{
		Kinds:    events.OutcomeKinds(),
		Pipeline: j.Pipeline, Run: j.Run, From: max(j.Completed(), j.After) + 1,
	}
	for recorded, err := range d.box.Read(ctx, query) {
		if err != nil {
			return outcome, false, fmt.Errorf("look up the outcome of run %s of %s: %w", j.Run, j.Pipeline, err)
		}
		if recorded.Err == nil && events.MayEnd(recorded.Fact, j.Job) {
			outcome, found = recorded, true
		}
	}
	return outcome, found, nil
}
