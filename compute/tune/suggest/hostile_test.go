package suggest_test

import (
	"math"
	"testing"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

func TestIterationsWithoutNumberEnd(t *testing.T) {
	t.Parallel()
	c := config(tune.Algorithm{Name: tune.Hyperband, MaxEpochs: 3, Iterations: math.MaxInt32}, unit("x"))
	c.MaxTrials = 10
	l := begin(t, c)
	l.search(func(t *tune.Trial) float64 { return float(t.Values, "x") })
	if left := l.study.Remaining(); left != 0 {
		t.Errorf("%d trials were not begun", left)
	}
}

func TestAnOlderStudyMayHaveHadOtherParameters(t *testing.T) {
	t.Parallel()
	for _, name := range tune.Algorithms() {
		for _, value := range []any{"many", 1.5, int64(-5), true} {
			c := config(tune.Algorithm{Name: name, MaxEpochs: 9, InitialPoints: 2},
				space.Parameter{Name: "n", Kind: space.Int, Min: 1, Max: 100, Sampling: space.Log},
				space.Parameter{Name: "f", Kind: space.Float, Min: 1, Max: 100, Sampling: space.Log},
				space.Parameter{Name: "c", Kind: space.Choice, Choices: []any{"a", "b"}}, space.Parameter{Name: "b", Kind: space.Boolean})
			var values space.Values
			for _, p := range c.Space {
				values = append(values, space.Value{Name: p.Name, Of: value})
			}
			c.MaxTrials = 6
			c.Earlier = []tune.Earlier{{Values: values, Metrics: map[string]float64{"loss": 1}}}
			l := begin(t, c)
			l.search(func(t *tune.Trial) float64 { return float(t.Values, "f") })
		}
	}
}

// Listing all values of a grid would take more memory than there is.
func TestAGridOfAllIntegersIsBegun(t *testing.T) {
	t.Parallel()
	c := config(tune.Algorithm{Name: tune.Grid}, space.Parameter{Name: "seed", Kind: space.Int, Max: 1 << 53, Sampling: space.Linear})
	c.MaxTrials = 4
	l := begin(t, c)
	l.search(func(*tune.Trial) float64 { return 1 })
	if last := float(l.study.Trials[3].Values, "seed"); len(l.study.Trials) != 4 || last == 0 {
		t.Errorf("%d trials, the last %v", len(l.study.Trials), last)
	}
}
