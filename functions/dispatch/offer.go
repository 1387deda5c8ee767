package dispatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/plan"
)

// offer puts the job of a complete join on the queue, and marks the join. A fact that comes again, or a dispatcher that
// died between the two, offers the same job again: the queue takes it once, and the commit in the store makes the rest
// harmless.
func (d *Dispatcher) offer(ctx context.Context, join plan.Join, current deployed) error {
	if join.State == plan.Dispatched {
		return nil
	}
	spec, err := d.pinned(ctx, join, current)
	if err != nil {
		return err
	}
	job, err := join.Train(spec)
	if err != nil {
		return fmt.Errorf("plan run %s of %s: %w", join.Run, join.Pipeline, err)
	}
	if err := d.box.Offer(ctx, job); err != nil {
		return fmt.Errorf("offer job %s: %w", job.ID, err)
	}
	d.log.Info("job offered", "job", job.ID, "pipeline", job.Pipeline, "run", job.Run, "class", job.Class)
	return d.mark(ctx, join, job.ID)
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
	return pipeline.FromJSON(entry.Value)
}

// mark moves the join on to dispatched. A lost race means that another dispatcher marked it.
func (d *Dispatcher) mark(ctx context.Context, join plan.Join, job string) error {
	key := JoinKey(join.Pipeline, join.Run)
	entry, err := d.joins.Get(ctx, key)
	if err != nil {
		return fmt.Errorf("read join %s: %w", key, err)
	}
	join.State, join.Job = plan.Dispatched, job
	if _, err := d.write(ctx, key, join, entry.Revision); err != nil && !errors.Is(err, events.ErrConflict) {
		return err
	}
	return nil
}
