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
	every := mapping("every", &jsonschema.Schema{Type: "string", Pattern: "^" + duration + "$", MinLength: new(uint64(2))})
	every.Required = []string{"every"}
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{word, every}, Description: "When to search: for each run; never; where module, schema " +
		"or transform graph have changed since the last best hyperparameters were found; or where that is so long ago, as in every: 7d. A run " +
		"without a search gets the last best ones of the pipeline"}
}

func algorithmForms() *jsonschema.Schema {
	name := &jsonschema.Schema{Type: "string"}
	for _, algorithm := range tune.Algorithms() {
		name.Enum = append(name.Enum, algorithm)
	}
	long := mapping(
		"name", name,
		"max_epochs", atLeast(1, "Of algorithms with epochs: those of a complete trial. A trial of fewer has its share of num_steps"),
		"min_epochs", atLeast(1, "Of asha: of its first rung"),
		"factor", atLeast(2, "Of algorithms with epochs: one in so many trials continues"),
		"iterations", atLeast(1, "Of hyperband and bohb"),
		"initial_points", atLeast(1, "Random trials before a model is fitted"),
		"acquisition", &jsonschema.Schema{Type: "string", Enum: []any{"logei", "ucb"}, Description: "Of bayesian"},
		"beta", &jsonschema.Schema{Type: "number", Minimum: "0", Description: "Of ucb"})
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{name, long}, Description: "How the next trial is chosen"}
}

func objectiveForms() *jsonschema.Schema {
	name := &jsonschema.Schema{Type: "string", MinLength: new(uint64(1))}
	long := mapping(
		"name", name,
		"direction", &jsonschema.Schema{Type: "string", Enum: []any{"min", "max"}, Description: "Left out: as the metric's name says"})
	long.Required = []string{"name"}
	one := []*jsonschema.Schema{name, long}
	list := &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{OneOf: one}, Description: "Several: their Pareto set is sought"}
	return &jsonschema.Schema{OneOf: append(one, list), Description: "Metric that a trial is judged by"}
}

func stoppingForms() *jsonschema.Schema {
	rule := &jsonschema.Schema{Type: "string", Enum: []any{"median", "percentile", "none"}}
	long := mapping(
		"rule", rule,
		"percentile", &jsonschema.Schema{Type: "number", Minimum: "0", Maximum: "100", Description: "A trial goes on in the best so many percent"},
		"min_trials", atLeast(1, "Completed before any is stopped"),
		"min_step", atLeast(0, "Before which none is stopped"))
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{rule, long}, Description: "Ends trials that do worse than others did at the same step"}
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
