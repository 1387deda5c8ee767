package dispatch

import (
	"context"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

// Plan makes the job of a run as Again would, and does nothing with it.
func (d *Dispatcher) Plan(ctx context.Context, pipeline, run string, again join.Again) (events.Job, error) {
	job, _, _, err := d.planned(ctx, pipeline, run, again)
	return job, err
}

// Again makes the job of a run that is complete or dispatched once more, from what its join has pinned, and offers it. The join names
// the new job from then on. It does not wait at the pipeline's gate: who asks for it by hand decides that too. To ask for the
// same again is harmless.
func (d *Dispatcher) Again(ctx context.Context, pipeline, run string, again join.Again) (events.Job, error) {
	_, found, current, err := d.planned(ctx, pipeline, run, again)
	if err != nil {
		return events.Job{}, err
	}
	outcome, told, err := d.outcome(ctx, found.Join)
	if err != nil {
		return events.Job{}, err
	}
	if told {
		found.After = outcome.Message.Sequence
	}
	return d.offer(ctx, found, current, again)
}

func (d *Dispatcher) planned(ctx context.Context, pipeline, run string, again join.Again) (job events.Job, found held, current deployed, err error) {
	if found, err = readJoin(ctx, d.joins, JoinKey(pipeline, run)); err != nil {
		return job, found, current, err
	}
	if found.State != join.Complete && found.State != join.Dispatched {
		return job, found, current, fmt.Errorf("run %s of %s is %s: it has no job that could be done again", run, pipeline, found.State)
	}
	if current, err = d.pipeline(ctx, pipeline); err != nil {
		return job, found, current, err
	}
	job, err = d.job(ctx, found.Join, current, again)
	return job, found, current, err
}

// TuneAgain makes the tune job of a run once more, from what its join has pinned, and offers it. What comes of it is told to the
// run, which may have been trained since: then it changes nothing but where its hyperparameters lie.
func (d *Dispatcher) TuneAgain(ctx context.Context, pipeline, run string, again join.Again) (events.Job, error) {
	found, err := readJoin(ctx, d.joins, JoinKey(pipeline, run))
	if err == nil {
		err = found.damage
	}
	if err == nil && found.Tuning == nil {
		err = fmt.Errorf("run %s of %s was not tuned", run, pipeline)
	}
	if err != nil {
		return events.Job{}, err
	}
	job, err := d.tuneJob(ctx, found.Join, deployed{}, again)
	if err == nil {
		err = d.box.Offer(caused(ctx, found), job)
	}
	if err != nil {
		return events.Job{}, fmt.Errorf("offer the tune job of run %s of %s again: %w", run, pipeline, err)
	}
	return job, nil
}
