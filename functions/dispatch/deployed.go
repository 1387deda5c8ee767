package dispatch

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// deployed is a pipeline and the revision it is at.
type deployed struct {
	spec     pipeline.Pipeline
	revision uint64
}

// Spec is a pipeline as it is deployed; events.ErrNotFound if it is not.
func Spec(ctx context.Context, box events.Letterbox, name string) (pipeline.Pipeline, error) {
	pipelines, err := box.Register(ctx, events.RegisterPipelines)
	if err != nil {
		return pipeline.Pipeline{}, fmt.Errorf("open pipelines: %w", err)
	}
	found, err := readPipeline(ctx, pipelines, name)
	return found.spec, err
}

// SpecOf is the pipeline that counts for a join: while that waits, as it is deployed; from then on at the revision that it has
// pinned, which a newer apply does not change. pipelines is RegisterPipelines.
func SpecOf(ctx context.Context, pipelines events.Register, j join.Join) (pipeline.Pipeline, error) {
	if j.Revision == 0 {
		found, err := readPipeline(ctx, pipelines, j.Pipeline)
		return found.spec, err
	}
	entry, err := pipelines.Revision(ctx, j.Pipeline, j.Revision)
	if err != nil {
		return pipeline.Pipeline{}, fmt.Errorf("read pipeline %s, revision %d: %w", j.Pipeline, j.Revision, err)
	}
	found, err := decodePipeline(entry)
	return found.spec, err
}

// pipeline reads the deployed pipeline. One that isn't there makes the fact a dead letter: its publisher may have mistyped
// the name, or be ahead of those who deploy. One that this Stoker does not understand makes it wait: while a newer Stoker is rolled out,
// its pipelines are read by dispatchers that are about to go, and to bury what those can't read would ask for mending by hand.
func (d *Dispatcher) pipeline(ctx context.Context, name string) (deployed, error) {
	found, err := d.applied(ctx, name)
	if errors.Is(err, events.ErrNotFound) { // which is for good: it is made sure of
		if err = d.pipelines.Sync(ctx); err == nil {
			found, err = d.applied(ctx, name)
		}
	}
	if errors.Is(err, events.ErrNotFound) {
		invalid := &events.Invalid{Field: "subject", Expected: "the name of an applied pipeline", Got: name}
		return deployed{}, events.Fail(events.FailureInput, invalid)
	}
	return found, err
}

// applied reads the deployed pipeline as readPipeline does, together with others who ask for it.
func (d *Dispatcher) applied(ctx context.Context, name string) (deployed, error) {
	entry, err := d.reads.get(ctx, "pipeline "+name, func(ctx context.Context) (events.Entry, error) { return d.pipelines.Get(ctx, name) })
	if err != nil {
		return deployed{}, fmt.Errorf("read pipeline %s: %w", name, err)
	}
	return d.decoded.decode(entry)
}

// decodedPipelines are pipelines that were decoded before, each at one revision. It may be used from several goroutines.
type decodedPipelines struct{ byName sync.Map } // of deployed

func (c *decodedPipelines) decode(entry events.Entry) (deployed, error) {
	if known, there := c.byName.Load(entry.Key); there && known.(deployed).revision == entry.Revision {
		return known.(deployed), nil
	}
	found, err := decodePipeline(entry)
	if err == nil {
		c.byName.Store(entry.Key, found)
	}
	return found, err
}

// pinned is the pipeline at the revision that a join has pinned; mostly the one that is deployed still.
// events.ErrNotFound says that the revision is gone for good.
func (d *Dispatcher) pinned(ctx context.Context, j join.Join, current deployed) (pipeline.Pipeline, error) {
	if j.Revision == current.revision {
		return current.spec, nil
	}
	spec, err := SpecOf(ctx, d.pipelines, j)
	if errors.Is(err, events.ErrNotFound) {
		if err = d.pipelines.Sync(ctx); err == nil {
			spec, err = SpecOf(ctx, d.pipelines, j)
		}
	}
	return spec, err
}

func readPipeline(ctx context.Context, pipelines events.Register, name string) (deployed, error) {
	entry, err := pipelines.Get(ctx, name)
	if err != nil {
		return deployed{}, fmt.Errorf("read pipeline %s: %w", name, err)
	}
	return decodePipeline(entry)
}

func decodePipeline(entry events.Entry) (deployed, error) {
	spec, err := pipeline.FromJSON(entry.Value)
	if err != nil {
		return deployed{}, fmt.Errorf("read pipeline %s, revision %d: %w", entry.Key, entry.Revision, err)
	}
	return deployed{spec, entry.Revision}, nil
}

// refuseInline refuses a fact that brings a pipeline of its own: it would run code that its publisher chose. A pipeline is
// deployed by those who may, with Apply.
func refuseInline(data events.Data) error {
	if len(events.RequestOf(data).PipelineSpec) == 0 {
		return nil
	}
	invalid := &events.Invalid{Field: "data.pipeline_spec", Expected: "none: this bus takes only pipelines that were applied", Got: "a pipeline"}
	return events.Fail(events.FailureInput, invalid)
}
