package builtin

import (
	"context"
	"fmt"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/training"
)

// A training is evaluated at most validations times on its way, and at least half as often, unless
// evaluate_every says otherwise: after steps whose loss is reported, if there are enough. A row
// takes about a third of the time that it takes in training, so a validationShare of the rows of
// the training costs about a tenth of its time. All evaluations of a small training together may
// take leastRows all the same; one of a large training takes at most mostRows.
const (
	validations     = 20
	validationShare = 0.3
	leastRows       = 16 << 10
	mostRows        = 128 << 10
	maxValidations  = 2048 // points of the run log, whatever evaluate_every is
)

// validationPlan says when a training is evaluated, and on how many rows. It depends only on the
// training and its data, so that another attempt evaluates at the same steps.
type validationPlan struct {
	last, every int
	batches     int // the first ones of the evaluation data; 0: all
}

// validationOf returns the plan of a training with this configuration.
func (c config) validationOf(a module.Assignment, trainRows int64) validationPlan {
	p := validationPlan{last: c.steps(a, trainRows), batches: training.Steps(a.EvalSteps)}
	if c.EvaluateEvery > 0 {
		p.every = max(c.EvaluateEvery, p.last/maxValidations)
		return p
	}
	p.every = max((p.last+validations-1)/validations, 1)
	if p.last >= validations/2*logEvery {
		p.every = (p.every + logEvery - 1) / logEvery * logEvery
	}
	rows := min(max(int(validationShare*float64(p.last*c.BatchSize)), leastRows)/validations, mostRows)
	if most := max(rows/c.EvalBatchSize, 1); p.batches == 0 || most < p.batches {
		p.batches = most
	}
	return p
}

// at reports whether the training is evaluated after a step. The last one has an evaluation of its
// own, on all rows.
func (p validationPlan) at(step int) bool { return step%p.every == 0 && step < p.last }

// validated makes the training one that is evaluated on its way. Without evaluation data it is not.
func (r runner) validated(ctx context.Context, t *training.Training, c config, d *data, n network) error {
	plan := c.validationOf(t.Assignment, d.survey.rows)
	if t.Eval == nil || plan.every >= plan.last {
		return nil
	}
	rows := d.evaluationRows(c, n, t.Assignment, r.log)
	if err := rows.read(ctx, plan.batches); err != nil {
		return fmt.Errorf("evaluate: %w", err)
	}
	r.log.Info("evaluated during the training", "every_steps", plan.every, "rows", rows.rows)
	t.Validation = &training.Validation{At: plan.at, Measure: func(ctx context.Context) (map[string]float64, error) {
		return evaluate(ctx, n, rows, plan.batches)
	}}
	return nil
}
