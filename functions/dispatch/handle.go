package dispatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/plan"
)

// Handle brings one fact of the log to its effect, whether it has just come or is handled again: what was done for it before stays
// as it is, what is missing is done. A *events.Failure of kind input means that it never will have an effect.
func (d *Dispatcher) Handle(ctx context.Context, recorded events.Recorded) error {
	if recorded.Err != nil {
		return events.Fail(events.FailureInput, recorded.Err)
	}
	if events.EndsJob(recorded.Fact) {
		return d.leave(ctx, recorded.Fact)
	}
	fact, ok := plan.Pin(recorded)
	if !ok {
		return nil // one of our own, which no run waits for
	}
	if err := refuseInline(recorded.Fact.Data); err != nil {
		return err
	}
	current, err := d.pipeline(ctx, recorded.Fact.Pipeline)
	if err != nil || !fact.Starts(current.spec) {
		return err
	}
	run, err := d.join(ctx, recorded.Fact.Run, fact, current)
	if err != nil {
		return err
	}
	if !run.Has(fact) {
		d.log.Info("fact changes nothing", "pipeline", run.Pipeline, "run", run.Run, "state", run.State, "fact", fact.ID, "kind", fact.Kind)
	}
	return d.advance(ctx, run, current)
}

// advance does what the state of a run still asks for. Whoever finds a run half done may call it: each effect can be repeated.
func (d *Dispatcher) advance(ctx context.Context, run held, current deployed) error {
	switch run.State {
	case plan.Waiting:
		d.log.Info("run waits", "pipeline", run.Pipeline, "run", run.Run, "for", run.Missing(current.spec))
		return d.skipTuning(ctx, run, current)
	case plan.Complete:
		return d.enter(ctx, run, current)
	case plan.Ended:
		return errors.Join(d.tell(ctx, run), d.withdraw(ctx, run, current))
	}
	return nil
}

// deployed is a pipeline and the revision it is at.
type deployed struct {
	spec     pipeline.Pipeline
	revision uint64
}

// pipeline reads the deployed pipeline. One that isn't there makes the fact a dead letter: its publisher may have mistyped
// the name, or be ahead of those who deploy.
func (d *Dispatcher) pipeline(ctx context.Context, name string) (deployed, error) {
	entry, err := d.pipelines.Get(ctx, name)
	if errors.Is(err, events.ErrNotFound) {
		invalid := &events.Invalid{Field: "subject", Expected: "the name of an applied pipeline", Got: name}
		return deployed{}, events.Fail(events.FailureInput, invalid)
	}
	if err != nil {
		return deployed{}, fmt.Errorf("read pipeline %s: %w", name, err)
	}
	spec, err := pipeline.FromJSON(entry.Value)
	if err != nil {
		return deployed{}, events.Fail(events.FailureInput, fmt.Errorf("pipeline %s, revision %d: %w", name, entry.Revision, err))
	}
	return deployed{spec, entry.Revision}, nil
}

// pinned returns the pipeline at the revision that the join pinned, which a newer apply does not change.
func (d *Dispatcher) pinned(ctx context.Context, join plan.Join, current deployed) (pipeline.Pipeline, error) {
	if join.Revision == current.revision {
		return current.spec, nil
	}
	entry, err := d.pipelines.Revision(ctx, join.Pipeline, join.Revision)
	if err != nil {
		return pipeline.Pipeline{}, fmt.Errorf("read pipeline %s, revision %d: %w", join.Pipeline, join.Revision, err)
	}
	spec, err := pipeline.FromJSON(entry.Value)
	if err != nil {
		return spec, fmt.Errorf("read pipeline %s, revision %d: %w", join.Pipeline, join.Revision, err)
	}
	return spec, nil
}

// skipTuning tells a run what it gets instead of the search that its tuner skips.
func (d *Dispatcher) skipTuning(ctx context.Context, run held, current deployed) error {
	skipped, ok := run.Skipped(current.spec)
	if !ok {
		return nil
	}
	var last *events.HParamsReady
	err := d.newest(ctx, run.Pipeline, events.KindHParamsReady, skipped.Cause.Sequence, func(data events.Data) {
		last = data.(*events.HParamsReady)
	})
	if err != nil {
		return err
	}
	fact := events.NewNothingToReuse(skipped)
	if last != nil {
		fact = events.NewHParamsReused(skipped, last)
	}
	if _, err := d.box.Publish(ctx, fact); err != nil {
		return fmt.Errorf("tell run %s of %s that tuning is skipped: %w", run.Run, run.Pipeline, err)
	}
	return nil
}
