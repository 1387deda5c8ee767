package builtin

import (
	"slices"

	"github.com/stoker-ml/stoker/compute/tune/space"
)

// usualSpace is what a search varies of a module where nobody says. Its first trial is what custom_config has, or what is nearest
// to it in the space.
func (c config) usualSpace(name string) space.Space {
	rate := space.Parameter{Name: "learning_rate", Kind: space.Float, Min: 1e-4, Max: 1e-1, Sampling: space.Log}
	var s space.Space
	switch name {
	case "linear":
		rate.Min, rate.Max = 1e-3, 1
		s = space.Space{rate, {Name: "optimizer", Kind: space.Choice, Choices: []any{"adam", "ftrl"}}}
	default:
		s = space.Space{
			rate,
			{Name: "num_layers", Kind: space.Int, Min: 1, Max: 4, Step: 1, Sampling: space.Linear},
			{Name: "units", Kind: space.Int, Min: 8, Max: 128, Step: 2, Sampling: space.Log},
			{Name: "activation", Kind: space.Choice, Choices: []any{"relu", "tanh"}},
			{Name: "dropout", Kind: space.Float, Min: 0, Max: 0.5, Step: 0.1, Sampling: space.Linear},
		}
	}
	if name == wideDeep {
		s = append(s, space.Parameter{Name: "linear_learning_rate", Kind: space.Float, Min: 1e-3, Max: 1, Sampling: space.Log})
	}
	s = slices.DeleteFunc(s, func(p space.Parameter) bool { return c.varies(p.Name) != nil })
	for i := range s {
		s[i] = c.fromConfig(s[i])
	}
	return s
}

// fromConfig makes the configured value a parameter's default, if nothing else is said: the value of the parameter that is nearest.
func (c config) fromConfig(p space.Parameter) space.Parameter {
	if p.Default != nil || p.Kind == space.Fixed || p.Check() != nil {
		return p
	}
	switch value := c.value(p.Name).(type) {
	case string:
		for _, choice := range p.Choices {
			if choice == value {
				p.Default = value
			}
		}
	case float64:
		p.Default = nearest(p, value)
	}
	return p
}

// value is what the configuration has for a hyperparameter: a word, or a number.
func (c config) value(hyperparameter string) any {
	units := 8.0
	if len(c.HiddenUnits) > 0 {
		units = float64(c.HiddenUnits[0])
	}
	return map[string]any{
		"learning_rate": c.Schedule.initial(c.LearningRate), "optimizer": c.Optimizer, "num_layers": float64(len(c.HiddenUnits)), "units": units,
		"activation": c.Activation, "linear_learning_rate": c.LinearSchedule.initial(c.LinearLearningRate), "linear_optimizer": c.LinearOptimizer,
		"dropout": c.Dropout, "l1": c.L1, "l2": c.L2, "batch_size": float64(c.BatchSize), "embedding_dim": float64(c.EmbeddingDim), "seed": float64(c.Seed),
	}[hyperparameter]
}

// nearest is the value of a parameter that is nearest to a number; nil for one among its choices that isn't there.
func nearest(p space.Parameter, value float64) any {
	switch {
	case p.Kind == space.Float && p.Step == 0:
		return min(max(value, p.Min), p.Max)
	case p.Kind == space.Choice:
		for _, choice := range p.Choices {
			if choice == value || choice == any(int64(value)) {
				return choice
			}
		}
		return nil
	case p.Kind == space.Int:
		return p.At(p.Place(int64(min(max(value, p.Min), p.Max))))
	}
	return p.At(p.Place(min(max(value, p.Min), p.Max)))
}
