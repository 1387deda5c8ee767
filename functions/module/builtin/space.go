package builtin

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/spelling"
)

// hyperparameters are what a search may vary of the module of that name, in the order in which a space has them.
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

// kindOf is the kind of a hyperparameter's numbers; "" for one of words.
func kindOf(hyperparameter string) space.Kind {
	switch hyperparameter {
	case "learning_rate", "linear_learning_rate", "dropout", "l1", "l2":
		return space.Float
	case "optimizer", "linear_optimizer", "activation":
		return ""
	}
	return space.Int
}

// space is what a search varies: custom_config's, or one that suits the module.
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

// knows says whether the module of that name reads a hyperparameter.
func knows(name, hyperparameter string) error {
	known := hyperparameters(name)
	if slices.Contains(known, hyperparameter) {
		return nil
	}
	return fmt.Errorf("%s%s has no hyperparameter %q: expected some of %s%s", module.BuiltinPrefix, name, hyperparameter,
		strings.Join(known, ", "), spelling.Suggestion(hyperparameter, known))
}

// checkParameter refuses a parameter that the module doesn't read, or can't be trained with: its ends, or each of its choices, are
// tried on the configuration.
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
