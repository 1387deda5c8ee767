package builtin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/functions/module"
)

// defaultTrials is how many a search has that nobody says more of.
const defaultTrials = 20

// study says what a search for a builtin module's hyperparameters is: over custom_config's space, or one that suits the module, for the
// best of what suits the label.
func study(ctx context.Context, name string, a module.Assignment) (tune.Config, error) {
	config, err := newStudy(ctx, name, a)
	if errors.Is(err, example.ErrInput) && ctx.Err() == nil {
		return config, module.BadInput(err)
	}
	return config, err
}

func newStudy(ctx context.Context, name string, a module.Assignment) (tune.Config, error) {
	if err := checkName(name); err != nil {
		return tune.Config{}, err
	}
	c, err := newConfig(name, a, slog.New(slog.DiscardHandler))
	if err != nil {
		return tune.Config{}, err
	}
	space, err := c.space(name)
	if err != nil {
		return tune.Config{}, err
	}
	if len(a.EvalFiles) == 0 {
		return tune.Config{}, fmt.Errorf("%w: trials are measured on evaluation data, and there is none", example.ErrInput)
	}
	d, err := newData(ctx, c, a)
	if err != nil {
		return tune.Config{}, err
	}
	g, err := newGoal(c, d.dataset, d.survey)
	if err != nil {
		return tune.Config{}, err
	}
	return tune.Config{
		Space: space, Objectives: []tune.Objective{g.objective()}, Algorithm: tune.Algorithm{Name: tune.Bayesian},
		MaxTrials: defaultTrials, Defaults: true, Seed: c.Seed,
	}, nil
}

// objective is the metric of the evaluation data that suits the task.
func (g goal) objective() tune.Objective {
	switch g.task {
	case regression:
		return tune.Objective{Name: "rmse", Direction: tune.Min}
	case binary:
		return tune.Objective{Name: "auc", Direction: tune.Max}
	}
	return tune.Objective{Name: "accuracy", Direction: tune.Max}
}
