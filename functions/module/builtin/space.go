package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/functions/internal/spelling"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/training"
)

// hyperparameters returns those that a search may vary for the module of that name, in the order of
// a space.
func hyperparameters(name string) []string {
	all := []string{"learning_rate", "optimizer"}
	if name != "linear" {
		all = append(all, "num_layers", "units", "activation", "dropout")
	}
	all = append(all, "l1", "l2")
	if name == wideDeep {
		all = append(all, "linear_learning_rate", "linear_optimizer")
	}
	return append(all, "batch_size", "embedding_dim", "seed")
}

// kindOf returns the kind of a hyperparameter's numbers; "" for strings.
func kindOf(hyperparameter string) space.Kind {
	switch hyperparameter {
	case "learning_rate", "linear_learning_rate", "dropout", "l1", "l2":
		return space.Float
	case "optimizer", "linear_optimizer", "activation":
		return ""
	}
	return space.Int
}

// space returns the search space: custom_config's, or one that suits the module.
func (c config) space(name string) (space.Space, error) {
	s, err := c.readSpace(name)
	if err == nil && len(s) == 0 {
		err = errors.New("is empty: leave it out for one that suits the module")
	}
	if err == nil {
		err = s.Check()
	}
	for _, p := range s {
		if err == nil {
			err = c.checkParameter(name, p)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("custom_config: space: %w", err)
	}
	return s, nil
}

func (c config) readSpace(name string) (space.Space, error) {
	switch given := c.Space.(type) {
	case nil:
		return c.usualSpace(name), nil
	case map[string]any:
		return c.shortSpace(name, given)
	case []any:
		text, err := json.Marshal(given)
		if err != nil {
			return nil, err
		}
		var s space.Space
		if err := json.Unmarshal(text, &s); err != nil {
			return nil, err
		}
		for i := range s {
			if s[i], err = typed(s[i]); err != nil {
				return nil, fmt.Errorf("%s: %w", s[i].Name, err)
			}
		}
		return s, nil
	}
	return nil, fmt.Errorf(`expected an object like {"units": {"min": 8, "max": 64}}, or a list as KerasTuner's get_config has it`)
}

// knows reports an error unless the module of that name reads a hyperparameter.
func knows(name, hyperparameter string) error {
	known := hyperparameters(name)
	if slices.Contains(known, hyperparameter) {
		return nil
	}
	return fmt.Errorf("%s%s has no hyperparameter %q: expected some of %s%s", module.BuiltinPrefix, name, hyperparameter,
		strings.Join(known, ", "), spelling.Suggestion(hyperparameter, known))
}

// checkParameter returns an error for a parameter that the module doesn't read, or can't be trained
// with: it validates the configuration with each end of a range, or each choice.
func (c config) checkParameter(name string, p space.Parameter) error {
	if err := knows(name, p.Name); err != nil {
		return err
	}
	if err := c.varies(p.Name); err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	probes := []any{p.At(0), p.At(1)}
	if p.Kind == space.Choice {
		probes = p.Choices
	}
	for _, value := range probes {
		a := module.Assignment{Hyperparameters: map[string]any{"values": map[string]any{p.Name: value}}}
		tried := c
		err := tried.tune(name, a, slog.New(slog.DiscardHandler))
		if err == nil {
			err = errors.Join(tried.wideConfig.check(name), tried.check())
		}
		if err != nil {
			return fmt.Errorf("%s of %v: %w", p.Name, value, err)
		}
	}
	return nil
}

// between is the short form of a range: {min: 8, max: 64, step: 8}.
type between struct {
	Min      *float64       `json:"min"`
	Max      *float64       `json:"max"`
	Step     float64        `json:"step"`
	Sampling space.Sampling `json:"sampling"`
	Default  *float64       `json:"default"`
}

// shortSpace reads the short form of a space: for each hyperparameter a range, a list of choices,
// or a fixed value. Parameters are in the module's order, since an object has none.
func (c config) shortSpace(name string, given map[string]any) (space.Space, error) {
	var s space.Space
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if err := knows(name, key); err != nil {
			return nil, err
		}
	}
	for _, key := range hyperparameters(name) {
		value, ok := given[key]
		if !ok {
			continue
		}
		p, err := shortParameter(key, value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		s = append(s, c.fromConfig(p))
	}
	return s, nil
}

func shortParameter(name string, given any) (space.Parameter, error) {
	switch given := given.(type) {
	case map[string]any:
		return shortRange(name, given)
	case []any:
		return typed(space.Parameter{Name: name, Kind: space.Choice, Choices: given, Ordered: kindOf(name) != ""})
	}
	return typed(space.Parameter{Name: name, Kind: space.Fixed, Fixed: given})
}

func shortRange(name string, given map[string]any) (space.Parameter, error) {
	var r between
	known := module.Keys(r)
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(known, key) {
			return space.Parameter{}, fmt.Errorf("unknown key %q: expected some of %s%s", key, strings.Join(known, ", "), spelling.Suggestion(key, known))
		}
	}
	text, err := json.Marshal(given)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	switch {
	case err != nil:
		return space.Parameter{}, fmt.Errorf("expected numbers min and max, perhaps step, default and a sampling: %w", err)
	case r.Min == nil || r.Max == nil:
		return space.Parameter{}, fmt.Errorf("expected min and max")
	case kindOf(name) == "":
		return space.Parameter{}, fmt.Errorf(`is a word: expected a list of some, like ["adam", "sgd"]`)
	}
	p := space.Parameter{Name: name, Kind: kindOf(name), Min: *r.Min, Max: *r.Max, Step: r.Step, Sampling: r.Sampling}
	if p.Sampling == "" {
		p.Sampling = space.Linear
	}
	if p.Kind == space.Int && p.Sampling == space.Linear && p.Step == 0 {
		p.Step = 1
	}
	if r.Default != nil {
		p.Default = *r.Default
	}
	return typed(p)
}

// typed converts numbers to the kind of their hyperparameter: JSON has only one kind.
func typed(p space.Parameter) (_ space.Parameter, err error) {
	p.Choices = slices.Clone(p.Choices)
	for i := range p.Choices {
		if p.Choices[i], err = valueOf(p.Name, p.Choices[i]); err != nil {
			return p, err
		}
	}
	if p.Default != nil {
		if p.Default, err = valueOf(p.Name, p.Default); err != nil {
			return p, err
		}
	}
	if p.Kind == space.Fixed {
		p.Fixed, err = valueOf(p.Name, p.Fixed)
	}
	return p, err
}

func valueOf(name string, value any) (any, error) {
	text, isText := value.(string)
	number, isNumber := value.(float64)
	if whole, ok := value.(int64); ok {
		number, isNumber = float64(whole), true
	}
	switch kind := kindOf(name); {
	case kind == "" && isText:
		return text, nil
	case kind == space.Float && isNumber:
		return number, nil
	case kind == space.Int && isNumber && number == math.Trunc(number) && math.Abs(number) < 1<<53:
		return int64(number), nil
	case kind == "":
		return nil, fmt.Errorf("is a word, got %v", value)
	case kind == space.Float:
		return nil, fmt.Errorf("is a number, got %v", value)
	}
	return nil, fmt.Errorf("is a whole number, got %v", value)
}

// usualSpace returns the default search space of a module. Its first trial has the values of
// custom_config, or those nearest to them in the space.
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

// fromConfig makes the configured value the default of a parameter that has none: the nearest value
// of the parameter.
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

// value returns the configured value of a hyperparameter: a string or a number.
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

// nearest returns the value of a parameter that is nearest to a number; nil if it is not among the
// choices.
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

// defaultTrials is the number of trials of a search that does not set it.
const defaultTrials = 20

// study returns the search for a builtin module's hyperparameters: over custom_config's space, or
// one that suits the module, with the objective that suits the label.
func study(ctx context.Context, name string, a module.Assignment) (tune.Config, error) {
	config, err := newStudy(ctx, name, a)
	return config, training.BadInput(ctx, err)
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
	if len(a.EvalFiles) == 0 && a.Validation == nil {
		return tune.Config{}, fmt.Errorf("%w: trials need evaluation data, and there is none", example.ErrInput)
	}
	d, err := newData(ctx, c, a)
	if err != nil {
		return tune.Config{}, err
	}
	if a.Validation != nil {
		if _, err := foldsOf(*a.Validation, d.survey.rows); err != nil {
			return tune.Config{}, err
		}
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

// objective returns the metric of the evaluation data that suits the task.
func (g goal) objective() tune.Objective {
	switch g.task {
	case regression:
		return tune.Objective{Name: "rmse", Direction: tune.Min}
	case binary:
		return tune.Objective{Name: "auc", Direction: tune.Max}
	}
	return tune.Objective{Name: "accuracy", Direction: tune.Max}
}
