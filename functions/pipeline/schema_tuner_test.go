package pipeline_test

import (
	"encoding/json"
	"fmt"

	"github.com/invopop/jsonschema"

	"github.com/stoker-ml/stoker/compute/tune"
)

const duration = `([0-9]+d)?([0-9.]+(ns|us|µs|ms|s|m|h))*`

// Forms that reflection does not find.

func whenForms() *jsonschema.Schema {
	word := &jsonschema.Schema{Type: "string", Pattern: `^(never|always|changed|every: *` + duration + `)$`}
	every := mapping("every", &jsonschema.Schema{Type: "string", Pattern: "^" + duration + "$", MinLength: new(uint64(2)),
		Description: "Age of the last search from which a run searches again"})
	every.Required = []string{"every"}
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{word, every}}
}

func algorithmForms() *jsonschema.Schema {
	name := &jsonschema.Schema{Type: "string"}
	for _, algorithm := range tune.Algorithms() {
		name.Enum = append(name.Enum, algorithm)
	}
	long := mapping(
		"name", described(name, "Name of the algorithm. Default: the module's"),
		"max_epochs", atLeast(1, "Epochs of a complete trial of hyperband, bohb and asha. A trial of fewer epochs has its share of num_steps. Default: 100"),
		"min_epochs", atLeast(1, "Epochs of the first rung of asha. Default: 1"),
		"factor", atLeast(2, "One in this many trials of hyperband, bohb and asha continues. Default: 3, of asha 4"),
		"iterations", atLeast(1, "Repetitions of the schedule of hyperband and bohb. Default: 1"),
		"initial_points", atLeast(1, "Random trials before a model is fitted. Default: the algorithm's choice"),
		"acquisition", &jsonschema.Schema{Type: "string", Enum: []any{"logei", "ucb"}, Description: "Acquisition function of bayesian. Default: logei"},
		"beta", &jsonschema.Schema{Type: "number", Minimum: "0", Description: "Weight of the standard deviation in ucb. Default: 2.6"})
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{name, long}}
}

func objectiveForms() *jsonschema.Schema {
	name := &jsonschema.Schema{Type: "string", MinLength: new(uint64(1))}
	long := mapping(
		"name", described(name, "Name of the metric"),
		"direction", &jsonschema.Schema{Type: "string", Enum: []any{"min", "max"}, Description: "Which values are better. Default: as the metric's name says"})
	long.Required = []string{"name"}
	one := []*jsonschema.Schema{name, long}
	list := &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{OneOf: one}, Description: "Several metrics, of which the Pareto set is searched for"}
	return &jsonschema.Schema{OneOf: append(one, list)}
}

func stoppingForms() *jsonschema.Schema {
	rule := &jsonschema.Schema{Type: "string", Enum: []any{"median", "percentile", "none"}}
	long := mapping(
		"rule", described(rule, "With which of the other trials a trial is compared. Default: the module's"),
		"percentile", &jsonschema.Schema{Type: "number", Minimum: "0", Maximum: "100", Description: "A trial continues if it is among the best of this percentage. Default: 50"},
		"min_trials", atLeast(1, "Trials that are completed before any is stopped. Default: 5"),
		"min_step", atLeast(0, "Step before which no trial is stopped. Default: 0"))
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{rule, long}}
}

// described returns a copy of a schema with a description.
func described(of *jsonschema.Schema, description string) *jsonschema.Schema {
	copied := *of
	copied.Description = description
	return &copied
}

func atLeast(least int, description string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "integer", Minimum: json.Number(fmt.Sprint(least)), Description: description}
}

// mapping takes names and their schemas alternately.
func mapping(pairs ...any) *jsonschema.Schema {
	properties := jsonschema.NewProperties()
	for i := 0; i < len(pairs); i += 2 {
		properties.Set(pairs[i].(string), pairs[i+1].(*jsonschema.Schema))
	}
	return &jsonschema.Schema{Type: "object", Properties: properties, AdditionalProperties: jsonschema.FalseSchema}
}
