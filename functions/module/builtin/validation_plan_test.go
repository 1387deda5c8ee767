package builtin

import (
	"testing"

	"github.com/stoker-ml/stoker/functions/module"
)

// Evaluations cost at most about a tenth of a long training, whatever the sizes of the splits.
func TestValidationHasABudget(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		c                config
		steps, evalSteps int
		rows             int64
		every, batches   int
	}{
		"penguin":            {config{BatchSize: 20, EvalBatchSize: 20}, 100, 0, 234, 10, 40},
		"few steps":          {config{BatchSize: 20, EvalBatchSize: 20}, 30, 5, 234, 2, 5},
		"an epoch":           {config{BatchSize: 40, EvalBatchSize: 40, Epochs: 1}, 0, 0, 10000, 20, 20},
		"long":               {config{BatchSize: 512, EvalBatchSize: 512}, 100000, 0, 1e6, 5000, 256},
		"long, eval_steps":   {config{BatchSize: 512, EvalBatchSize: 512}, 100000, 10, 1e6, 5000, 10},
		"huge batches":       {config{BatchSize: 65536, EvalBatchSize: 65536}, 200, 0, 1e6, 10, 2},
		"every, all rows":    {config{BatchSize: 20, EvalBatchSize: 20, EvaluateEvery: 7}, 100, 0, 234, 7, 0},
		"every, many points": {config{BatchSize: 20, EvalBatchSize: 20, EvaluateEvery: 1}, 1 << 20, 0, 234, 512, 0},
	} {
		a := module.Assignment{TrainSteps: &of.steps, EvalSteps: &of.evalSteps}
		p := of.c.validationOf(a, of.rows)
		if p.every != of.every || p.batches != of.batches {
			t.Errorf("%s: every %d steps on %d batches, want %d on %d", name, p.every, p.batches, of.every, of.batches)
		}
		points := 0
		for step := 1; step <= p.last; step++ {
			if p.at(step) {
				points++
			}
		}
		if of.c.EvaluateEvery == 0 && (points < 9 || points > 19) || points > maxValidations {
			t.Errorf("%s: %d evaluations during the training", name, points)
		}
	}
}
