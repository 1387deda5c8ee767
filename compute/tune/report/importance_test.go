package report_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/report"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// tried returns a study of completed trials whose scores are computed from their values by score.
func tried(t *testing.T, trials int, score func(rate float64, units int64, word string) float64) *tune.Study {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	s := &tune.Study{Config: tune.Config{
		Space: space.Space{
			{Name: "rate", Kind: space.Float, Min: 0.0001, Max: 1, Sampling: space.Log}, {Name: "units", Kind: space.Int, Min: 1, Max: 100},
			{Name: "word", Kind: space.Choice, Choices: []any{"a", "b", "c"}}, {Name: "fixed", Kind: space.Fixed, Fixed: int64(1)},
		},
		Objectives: []tune.Objective{{Name: "loss", Direction: tune.Min}},
	}}
	for i := range trials {
		rate, units, word := math.Pow(10, -4*random.Float64()), random.Int64N(100)+1, string(rune('a'+random.IntN(3)))
		values := space.Values{{Name: "rate", Of: rate}, {Name: "units", Of: units}, {Name: "word", Of: word}, {Name: "fixed", Of: int64(1)}}
		loss := score(rate, units, word)
		s.Trials = append(s.Trials, &tune.Trial{
			ID: fmt.Sprintf("%04d", i), Suggestion: tune.Suggestion{Values: values}, Status: tune.Completed, Ended: time.Unix(int64(i), 0),
			Metrics: map[string]float64{"loss": loss}, Curves: map[string][]tune.Point{"loss": {{Step: 1, Value: loss}}},
		})
	}
	s.Entries = 1
	return s
}

func TestImportanceFindsWhatTheScoreComesFrom(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		score func(rate float64, units int64, word string) float64
		most  string
	}{
		"a number, by its logarithm, and not monotone": {func(rate float64, _ int64, _ string) float64 { l := math.Log10(rate) + 2; return l * l }, "rate"},
		"a whole number": {func(_ float64, units int64, _ string) float64 { return float64(units) }, "units"},
		"a word":         {func(_ float64, _ int64, word string) float64 { return map[string]float64{"a": 3, "b": 0, "c": 1}[word] }, "word"},
		"a word, where one trial in ten has diverged": {func(rate float64, _ int64, word string) float64 {
			if rate > 0.4 {
				return 1e9
			}
			return map[string]float64{"a": 3, "b": 0, "c": 1}[word]
		}, "word"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := report.Importances(tried(t, 120, tc.score))
			if len(list) != 3 || list[0].Parameter != tc.most || list[0].Explained < 0.6 {
				t.Fatalf("%+v, want %s to explain most, and nothing of what is fixed", list, tc.most)
			}
			for _, other := range list[1:] {
				if other.Explained > 0.4 || other.Trials != 120 {
					t.Errorf("%+v", other)
				}
			}
		})
	}
}

func TestImportanceOfNoise(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for _, one := range report.Importances(tried(t, 200, func(float64, int64, string) float64 { return random.NormFloat64() })) {
		if one.Explained > 0.1 { // the part that is due to chance is subtracted
			t.Errorf("%+v", one)
		}
	}
	if few := report.Importances(tried(t, 3, func(float64, int64, string) float64 { return random.Float64() })); len(few) != 0 {
		t.Errorf("of three trials: %+v", few)
	}
	for _, one := range report.Importances(tried(t, 50, func(float64, int64, string) float64 { return 1 })) {
		if one.Explained != 0 {
			t.Errorf("all scores are alike: %+v", one)
		}
	}
}
