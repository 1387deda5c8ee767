package dispatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
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
	j, err := d.remembered(ctx, broken, current)
	if err != nil {
		return held{}, fmt.Errorf("mend the join of run %s of %s: %w", broken.Run, broken.Pipeline, err)
	}
	if len(j.Facts) > 0 || j.State == join.Ended {
		return d.swap(ctx, broken, j)
	}
	if broken.at == 0 {
		return held{Join: j}, nil
	}
	if err := d.joins.Delete(ctx, JoinKey(broken.Pipeline, broken.Run), broken.at); err != nil { // nobody ever told of such a run
		return held{}, fmt.Errorf("remove what stands for run %s of %s: %w", broken.Run, broken.Pipeline, err)
	}
	return held{Join: j}, nil
}

// remembered is what the log says of a run.
func (d *Dispatcher) remembered(ctx context.Context, broken held, current deployed) (join.Join, error) {
	past, err := d.past(ctx, broken.Pipeline, broken.Run)
	if err != nil {
		return join.Join{}, err
	}
	return d.recall(ctx, past, broken.Run, current)
}

// recall is the join of a run that follows from all that the log holds of it.
func (d *Dispatcher) recall(ctx context.Context, past *join.Past, run string, current deployed) (join.Join, error) {
	j := past.Join(current.spec, run)
	outcome, told := past.Outcome()
	if ended, over := past.Ended(j); over && !told {
		return ended, nil
	}
	j, err := d.complete(ctx, j, current)
	if err != nil || !told {
		return j, err
	}
	if j.State != join.Complete { // the pipeline has changed since: as it is now, such a run has no job
		return j.End(events.FailureIncomplete, "its join was lost after its job was done", outcome.Message.Stored).Told(), nil
	}
	j.Outcome = outcome.Message.Sequence
	return d.dispatched(ctx, j, current)
}

// dispatched is a complete join whose job is known to have been offered.
func (d *Dispatcher) dispatched(ctx context.Context, j join.Join, current deployed) (join.Join, error) {
	job, err := d.job(ctx, j, current, join.Again{})
	j.State, j.Job = join.Dispatched, job.ID
	return j, err
}

// known is the join of a run, whole; events.ErrNotFound if no dispatcher has seen a fact of the run.
func (d *Dispatcher) known(ctx context.Context, current deployed, run string) (held, error) {
	found, err := d.whole(ctx, current, run)
	if err == nil && found.at == 0 {
		return held{}, fmt.Errorf("read join %s: %w", JoinKey(current.spec.Name, run), events.ErrNotFound)
	}
	return found, err
}
