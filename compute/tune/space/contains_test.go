package space_test

import (
	"math"
	"testing"

	"github.com/stoker-ml/stoker/compute/tune/space"
)

func TestASpaceContainsWhatItsActiveParametersTake(t *testing.T) {
	t.Parallel()
	s := space.Space{
		{Name: "units", Kind: space.Int, Min: 8, Max: 64, Step: 8, Sampling: space.Linear},
		{Name: "rate", Kind: space.Float, Min: 0.5, Max: 1, Sampling: space.Linear},
		{Name: "n", Kind: space.Choice, Choices: []any{int64(1), int64(2)}},
		{Name: "late", Kind: space.Int, Min: 2, Max: 4, Default: int64(0)},
		{Name: "model", Kind: space.Choice, Choices: []any{"mlp", "cnn"}},
		{Name: "filters", Kind: space.Int, Min: 1, Max: 4, Step: 1, Sampling: space.Linear,
			Conditions: []space.Condition{{Parent: "model", Values: []any{"cnn"}}}},
	}
	for name, tc := range map[string]struct {
		values space.Values
		want   bool
	}{
		"nothing":                            {nil, true},
		"the least and the largest":          {space.Values{{Name: "units", Of: int64(8)}, {Name: "rate", Of: 1.0}}, true},
		"between two steps":                  {space.Values{{Name: "units", Of: int64(12)}}, true},
		"a parameter that it doesn't know":   {space.Values{{Name: "tuner/epochs", Of: int64(3)}}, true},
		"too small":                          {space.Values{{Name: "units", Of: int64(4)}}, false},
		"too large":                          {space.Values{{Name: "rate", Of: 1.5}}, false},
		"no number":                          {space.Values{{Name: "rate", Of: math.NaN()}}, false},
		"a text for a number":                {space.Values{{Name: "units", Of: "8"}}, false},
		"a whole float among ints":           {space.Values{{Name: "n", Of: 2.0}}, true},
		"a float between them":               {space.Values{{Name: "n", Of: 1.5}}, false},
		"a text that looks like one of them": {space.Values{{Name: "n", Of: "1"}}, false},
		"another choice":                     {space.Values{{Name: "model", Of: "rnn"}}, false},
		"too large, and active":              {space.Values{{Name: "model", Of: "cnn"}, {Name: "filters", Of: int64(9)}}, false},
		"a fraction for a whole number":      {space.Values{{Name: "units", Of: 8.5}}, false},
		"a default that lies outside":        {space.Values{{Name: "late", Of: int64(0)}}, true},
		"too large, but not active":          {space.Values{{Name: "model", Of: "mlp"}, {Name: "filters", Of: int64(9)}}, true},
	} {
		if got := s.Contains(tc.values); got != tc.want {
			t.Errorf("%s: %t, want %t", name, got, tc.want)
		}
	}
}
