package dispatch

import (
	"context"
	"fmt"
	"slices"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/plan"
)

// factsOf are the facts of a join's run that the log holds below a sequence, 0 for all, together with those that the join holds: the one
// that was refused when it came is among them if it was handled again.
func (d *Dispatcher) factsOf(ctx context.Context, join plan.Join, until uint64) ([]plan.Pinned, error) {
	past, err := d.past(ctx, join.Pipeline, join.Run)
	return append(slices.Clip(join.Facts), past.Facts(until)...), err
}

// past is all that the log holds of a run.
func (d *Dispatcher) past(ctx context.Context, pipeline, run string) (*plan.Past, error) {
	var past plan.Past
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
func (d *Dispatcher) latest(ctx context.Context, join plan.Join, wants plan.Wants) (latest plan.Latest, err error) {
	if wants.Hyperparameters {
		err = d.newest(ctx, join.Pipeline, events.KindHParamsReady, join.Completed(), func(data events.Data) {
			latest.Hyperparameters = data.(*events.HParamsReady).Hyperparameters
		})
	}
	if err == nil && wants.BaseModel {
		err = d.newest(ctx, join.Pipeline, events.KindModelTrained, join.Completed(), func(data events.Data) {
			latest.BaseModel = data.(*events.ModelTrained).Model.URI
		})
	}
	if err == nil && wants.Blessed {
		latest.BaseModel, err = Blessed(ctx, d.box, join.Pipeline, join.Completed())
	}
	if err == nil && wants.Spans > 0 {
		latest.Spans, err = d.spans(ctx, join, wants.Spans)
	}
	return latest, err
}

// outcome is the newest event that says what came of a run's last job; false if there is none yet.
func (d *Dispatcher) outcome(ctx context.Context, join plan.Join) (outcome events.Recorded, found bool, err error) {
	query := events.Query{
		Kinds:    events.OutcomeKinds(),
		Pipeline: join.Pipeline, Run: join.Run, From: max(join.Completed(), join.After) + 1,
	}
	for recorded, err := range d.box.Read(ctx, query) {
		if err != nil {
			return outcome, false, fmt.Errorf("look up the outcome of run %s of %s: %w", join.Run, join.Pipeline, err)
		}
		if recorded.Err == nil && events.MayEnd(recorded.Fact, join.Job) {
			outcome, found = recorded, true
		}
	}
	return outcome, found, nil
}
