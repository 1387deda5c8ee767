package builtin

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/train"
	"github.com/stoker-ml/stoker/functions/module"
)

// mostMeasured is how often a trial is measured on its way at most, and stopCheck how many steps it takes between two looks for a
// request to stop.
const (
	mostMeasured = 8
	stopCheck    = 10
)

// try trains a trial: as train does, to the bit, but for its metrics alone. It is measured on its way, so that one that does worse than
// others can be stopped, and leaves a checkpoint where others may go on from it.
func (r runner) try(ctx context.Context, c config, d *data, n network, a module.Assignment, log *runLog) (result train.Result, err error) {
	if len(a.EvalFiles) == 0 {
		return result, fmt.Errorf("%w: a trial is measured on evaluation data, and there is none", example.ErrInput)
	}
	rows, err := d.evaluation(ctx, c, n, a, r.log)
	if err != nil {
		return result, err
	}
	examples, err := d.open(r.examples(c, a))
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, examples.Close()) }()
	o, err := r.options(c, n, a)
	if err != nil {
		return result, err
	}
	log.follow(&o)
	t := &trial{assignment: a, dir: o.Checkpoints.Dir, report: r.report, measure: func(ctx context.Context) (map[string]float64, error) {
		return measure(ctx, n, rows, steps(a.EvalSteps))
	}}
	if err := t.plan(c, d.survey.rows, rows.rows); err != nil {
		return result, err
	}
	t.follow(&o)
	result, err = train.Run(ctx, o, n.model, train.FromExamples(examples, n.feed), nil)
	if err == nil {
		result.Metrics, err = t.end(ctx, result.Steps)
	}
	return result, err
}

func measure(ctx context.Context, n network, rows *held, most int) (_ map[string]float64, err error) {
	source, err := rows.source()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	return train.Evaluate(ctx, n.model, source, most)
}

// trial is the course of one: what was measured at which step.
type trial struct {
	assignment module.Assignment
	dir        string // of its checkpoints
	report     func(module.Message)
	measure    func(context.Context) (map[string]float64, error)

	steps, from, every int // it goes from step from to step steps, and is measured each every
	course             []measured
	told               bool // what an attempt before this one has measured
}

// measured is what an evaluation has found.
type measured struct {
	Step    int                `json:"step"`
	Metrics map[string]float64 `json:"metrics"`
}

// plan says when the trial is measured: so often that it costs less than the training, whose rows take about three times as long each. It
// depends on nothing but the trial and its data, so that an attempt after this one measures at the same steps.
func (t *trial) plan(c config, trainRows int64, evalRows int) error {
	t.steps = steps(t.assignment.TrainSteps)
	if epochs := (int(trainRows)*c.Epochs + c.BatchSize - 1) / c.BatchSize; t.steps == 0 || epochs > 0 && epochs < t.steps {
		t.steps = epochs
	}
	if of := t.assignment.Trial; of.Epochs > 0 {
		t.from = t.steps * of.From / of.Epochs
	}
	taken := t.steps - t.from
	times := min(max(taken*c.BatchSize/max(evalRows, 1), 1), mostMeasured)
	t.every = max((taken+times-1)/times, 1)
	return t.resume()
}

// follow joins the course to a training.
func (t *trial) follow(o *train.Options) {
	o.Checkpoints.Last = t.assignment.Trial.Keep
	before := o.Checkpointing
	o.Checkpointing = func(step int) {
		if before != nil {
			before(step)
		}
		t.keep()
	}
	o.Continue = func(ctx context.Context, step int) (bool, error) {
		t.tell(step)
		due := (step-t.from)%t.every == 0
		if due {
			if err := t.at(ctx, step); err != nil {
				return false, err
			}
		}
		return !(due || step%stopCheck == 0) || !t.assignment.Stopped(), nil
	}
}

// at measures at a step.
func (t *trial) at(ctx context.Context, step int) error {
	metrics, err := t.measure(ctx)
	if err != nil {
		return err
	}
	t.course = append(t.course, measured{step, metrics})
	t.say(t.course[len(t.course)-1])
	return nil
}

// end is what the trial is known by: what was measured behind its last step.
func (t *trial) end(ctx context.Context, step int) (map[string]float64, error) {
	t.tell(step)
	if last := len(t.course) - 1; last < 0 || t.course[last].Step != step {
		if err := t.at(ctx, step); err != nil {
			return nil, err
		}
	}
	return t.course[len(t.course)-1].Metrics, nil
}

func (t *trial) say(m measured) {
	t.report(module.Message{Type: module.MessageProgress, Phase: string(train.Training), Step: m.Step, Steps: t.steps, Metrics: m.Metrics})
}
