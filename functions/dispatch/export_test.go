package dispatch

import (
	"context"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// The entries as a dispatcher reads them. Other packages read an index of runs (functions/runs).

// Spec returns a pipeline as it is deployed; events.ErrNotFound if it isn't deployed.
func Spec(ctx context.Context, bus events.KVBuckets, name string) (pipeline.Pipeline, error) {
	pipelines, err := bus.KV(ctx, events.KVPipelines)
	if err != nil {
		return pipeline.Pipeline{}, fmt.Errorf("open pipelines: %w", err)
	}
	found, err := readPipeline(ctx, pipelines, name)
	return found.spec, err
}

// ReadJoin returns the present join of a run; events.ErrNotFound if no dispatcher has handled an
// event of the run, or if the entry is not a join of the run.
func ReadJoin(ctx context.Context, bus events.KVBuckets, pipeline, run string) (join.Join, error) {
	joins, err := bus.KV(ctx, events.KVJoins)
	if err != nil {
		return join.Join{}, fmt.Errorf("open joins: %w", err)
	}
	found, err := readJoin(ctx, joins, JoinKey(pipeline, run))
	if found.damage != nil {
		return join.Join{}, fmt.Errorf("%w: %w", events.ErrNotFound, found.damage)
	}
	return found.Join, err
}

// ReadAdmission returns the admission of a pipeline as it stands.
func ReadAdmission(ctx context.Context, bus events.KVBuckets, pipeline string) (join.Admission, error) {
	admissions, err := bus.KV(ctx, events.KVGates)
	if err != nil {
		return join.Admission{}, fmt.Errorf("open admissions: %w", err)
	}
	admission, _, err := readAdmission(ctx, admissions, pipeline)
	return admission, err
}
