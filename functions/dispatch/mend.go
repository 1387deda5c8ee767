package dispatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/plan"
)

// whole is the run's join, which is mended first if what stands in the register can't be read.
func (d *Dispatcher) whole(ctx context.Context, current deployed, run string) (held, error) {
	for pause := (events.Pause{}); ; {
		found, err := d.read(ctx, current.spec.Name, run)
		if err != nil || found.damage == nil {
			return found, err
		}
		if found, err = d.mend(ctx, found, current); !errors.Is(err, events.ErrConflict) {
			return found, err
		} // else someone else has mended it
		if err := pause.Wait(ctx); err != nil {
			return held{}, err
		}
	}
}

// mend makes a join anew from what the log holds of its run, in the place of one that can't be read. It comes back no further behind
// than the log knows of: a run of which something has come gets no second job. What the log can't tell is forgotten: which revision
// of the pipeline had been pinned, and which fact had been handled again after it was refused.
func (d *Dispatcher) mend(ctx context.Context, broken held, current deployed) (held, error) {
	d.log.ErrorContext(ctx, "join is made anew from the log", "pipeline", broken.Pipeline, "run", broken.Run, "error", broken.damage)
	join, err := d.remembered(ctx, broken, current)
	if err != nil {
		return held{}, fmt.Errorf("mend the join of run %s of %s: %w", broken.Run, broken.Pipeline, err)
	}
	if len(join.Facts) > 0 || join.State == plan.Ended {
		return d.swap(ctx, broken, join)
	}
	if broken.at == 0 {
		return held{Join: join}, nil
	}
	if err := d.joins.Delete(ctx, JoinKey(broken.Pipeline, broken.Run), broken.at); err != nil { // nobody ever told of such a run
		return held{}, fmt.Errorf("remove what stands for run %s of %s: %w", broken.Run, broken.Pipeline, err)
	}
	return held{Join: join}, nil
}

// remembered is what the log says of a run.
func (d *Dispatcher) remembered(ctx context.Context, broken held, current deployed) (plan.Join, error) {
	past, err := d.past(ctx, broken.Pipeline, broken.Run)
	if err != nil {
		return plan.Join{}, err
	}
	return d.recall(ctx, past, broken.Run, current)
}

// recall is the join of a run that follows from all that the log holds of it.
func (d *Dispatcher) recall(ctx context.Context, past *plan.Past, run string, current deployed) (plan.Join, error) {
	join := past.Join(current.spec, run)
	outcome, told := past.Outcome()
	if ended, over := past.Ended(join); over && !told {
		return ended, nil
	}
	join, err := d.complete(ctx, join, current)
	if err != nil || !told {
		return join, err
	}
	if join.State != plan.Complete { // the pipeline has changed since: as it is now, such a run has no job
		return join.End(events.FailureIncomplete, "its join was lost after its job was done", outcome.Message.Stored).Told(), nil
	}
	join.Outcome = outcome.Message.Sequence
	return d.dispatched(ctx, join, current)
}

// dispatched is a complete join whose job is known to have been offered.
func (d *Dispatcher) dispatched(ctx context.Context, join plan.Join, current deployed) (plan.Join, error) {
	job, err := d.job(ctx, join, current, plan.Again{})
	join.State, join.Job = plan.Dispatched, job.ID
	return join, err
}

// known is the join of a run, whole; events.ErrNotFound if no dispatcher has seen a fact of the run.
func (d *Dispatcher) known(ctx context.Context, current deployed, run string) (held, error) {
	found, err := d.whole(ctx, current, run)
	if err == nil && found.at == 0 {
		return held{}, fmt.Errorf("read join %s: %w", JoinKey(current.spec.Name, run), events.ErrNotFound)
	}
	return found, err
}
