package suggest_test

import (
	"math"
	"testing"

	"github.com/stoker-ml/stoker/compute/tune"
)

func bohbOf(name string, seed int64) tune.Config {
	config := config(tune.Algorithm{Name: name, MaxEpochs: 27}, unit("x"), unit("y"))
	config.Seed = seed
	return config
}

func TestBOHBHasHyperbandsSchedule(t *testing.T) {
	t.Parallel()
	type rung struct{ bracket, round, from, epochs int }
	count := func(name string) map[rung]int {
		counted := map[rung]int{}
		l := begin(t, bohbOf(name, 1))
		l.search(func(t *tune.Trial) float64 { return bowl(t.Values) + 1/float64(t.Epochs) })
		for _, trial := range l.study.Trials {
			counted[rung{trial.Bracket, trial.Round, trial.From, trial.Epochs}]++
		}
		return counted
	}
	want, got := count(tune.Hyperband), count(tune.BOHB)
	for at, n := range want {
		if got[at] != n || len(got) != len(want) {
			t.Errorf("%+v: expected %d trials, got %d", at, n, got[at])
		}
	}
}

func TestBOHBBeginsBetterConfigurationsThanHyperband(t *testing.T) {
	t.Parallel()
	begun := func(name string) float64 {
		return median(func(seed int64) float64 {
			l := begin(t, bohbOf(name, seed))
			l.search(func(t *tune.Trial) float64 { return bowl(t.Values) + 1/float64(t.Epochs) })
			sum, n := 0.0, 0.0
			for _, trial := range l.study.Trials {
				if trial.Bracket < 3 && trial.Parent == "" {
					sum, n = sum+bowl(trial.Values), n+1
				}
			}
			return sum / n
		})
	}
	if bohb, hyperband := begun(tune.BOHB), begun(tune.Hyperband); bohb > 0.6*hyperband {
		t.Errorf("expected configurations behind the first bracket to be better than random ones, at %v in the mean, got %v", hyperband, bohb)
	}
}

func TestBOHBLosesNoPromotionToAFailure(t *testing.T) {
	t.Parallel()
	config := bohbOf(tune.BOHB, 1)
	config.MaxFailures, config.Parallel = 1e6, 1
	l := begin(t, config)
	l.search(func(t *tune.Trial) float64 {
		if noise(t, "failure") < 0.2 {
			return math.NaN()
		}
		return bowl(t.Values)
	})
	finished := 0
	for _, trial := range l.study.Trials {
		if trial.Status == tune.Completed && trial.Epochs == 27 {
			finished++
		}
	}
	if finished != 1+2+2+4 {
		t.Errorf("expected the schedule's 9 trials of 27 epochs, got %d", finished)
	}
}
