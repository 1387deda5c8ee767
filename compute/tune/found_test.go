package tune_test

import (
	"reflect"
	"testing"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// A trial that was begun before a parameter was found had the parameter's default: readers of its
// values, who train with them, find the default.
func TestATrialHasTheDefaultsOfParametersThatWereFoundLater(t *testing.T) {
	t.Parallel()
	config := tune.Config{
		Space:      space.Space{{Name: "model", Kind: space.Choice, Choices: []any{"mlp", "cnn"}}},
		Objectives: []tune.Objective{{Name: "loss", Direction: tune.Min}}, Algorithm: tune.Algorithm{Name: tune.Hyperband}, Parallel: 2,
	}
	var study tune.Study
	for _, e := range []tune.Entry{
		{Begun: &tune.Begun{Config: config}},
		{Started: []tune.Started{
			{Trial: "0000", Owner: tune.Owner{Job: "a", Attempt: "1"}, Suggestion: &tune.Suggestion{
				Values: space.Values{{Name: "model", Of: "mlp"}, {Name: "tuner/epochs", Of: int64(2)}}, Epochs: 2,
			}},
			{Trial: "0001", Owner: tune.Owner{Job: "b", Attempt: "1"}, Suggestion: &tune.Suggestion{
				Values: space.Values{{Name: "model", Of: "cnn"}, {Name: "tuner/epochs", Of: int64(2)}}, Epochs: 2,
			}},
		}},
	} {
		if err := study.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	before := study
	if err := study.Apply(tune.Entry{Space: space.Space{
		{Name: "rate", Kind: space.Float, Min: 0.5, Max: 1, Sampling: space.Linear},
		{Name: "filters", Kind: space.Int, Min: 8, Max: 64, Step: 8, Sampling: space.Linear, Default: int64(16),
			Conditions: []space.Condition{{Parent: "model", Values: []any{"cnn"}}}},
	}}); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]map[string]any{
		"0000": {"model": "mlp", "rate": 0.5, "tuner/epochs": int64(2)},
		"0001": {"model": "cnn", "rate": 0.5, "filters": int64(16), "tuner/epochs": int64(2)},
	} {
		if got := study.Trial(id).Values.Map(); !reflect.DeepEqual(got, want) {
			t.Errorf("trial %s: %v, expected %v", id, got, want)
		}
		if old := before.Trial(id).Values; len(old) != 2 {
			t.Errorf("trial %s of the study before it: %v", id, old)
		}
	}
}
