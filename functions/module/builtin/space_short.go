package builtin

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/spelling"
)

// between is a range as people write it: {min: 8, max: 64, step: 8}.
type between struct {
	Min      *float64       `json:"min"`
	Max      *float64       `json:"max"`
	Step     float64        `json:"step"`
	Sampling space.Sampling `json:"sampling"`
	Default  *float64       `json:"default"`
}

// shortSpace reads a space as people write it: of each hyperparameter a range, a list to choose from, or a value that is fixed. Parameters come
// in the module's order, since an object has none.
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

// typed gives numbers the kind that their hyperparameter has: JSON knows one kind alone.
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
