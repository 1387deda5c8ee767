package search

import (
	"cmp"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stoker-ml/stoker/compute/tune/space"
)

func TestPointsLieInTheSpace(t *testing.T) {
	t.Parallel()
	s := space.Space{
		{Name: "model", Kind: space.Choice, Choices: []any{"mlp", "cnn"}},
		{Name: "units", Kind: space.Int, Min: 4, Max: 64, Step: 1, Sampling: space.Linear},
		{Name: "filters", Kind: space.Int, Min: 8, Max: 64, Step: 8, Sampling: space.Linear,
			Conditions: []space.Condition{{Parent: "model", Values: []any{"cnn"}}}},
	}
	for point, want := range map[string]string{
		`{"units": 8}`:                   "",
		`{"model": "mlp", "filters": 1}`: "", // not active
		`{"units": 100}`:                 "points[0]: units: 100 is not in the space",
		`{"model": "rnn"}`:               "points[0]: model: rnn is not in the space",
		`{"model": "cnn", "filters": 1}`: "points[0]: filters: 1 is not in the space",
		`{"unit": 8}`:                    "points[0]: unit: unknown hyperparameter, expected some of model, units, filters",
	} {
		var given map[string]any
		if err := json.Unmarshal([]byte(point), &given); err != nil {
			t.Fatal(err)
		}
		if _, err := pointsOf(s, []map[string]any{given}); fmt.Sprint(err) != cmp.Or(want, "<nil>") {
			t.Errorf("%s: %v", point, err)
		}
	}
}
