package suggest_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/compute/tune/suggest"
)

var all = tune.Algorithms()

// opened returns a study that has defaults, given points and an infinite space.
func opened(algorithm string) tune.Config {
	x := unit("x")
	x.Default = 0.25
	config := config(tune.Algorithm{Name: algorithm, MaxEpochs: 9}, x, unit("y"))
	config.MaxTrials, config.Defaults, config.MaxFailures = 30, true, 1e6
	config.Points = []space.Values{
		{{Name: "x", Of: 0.5}, {Name: "y", Of: int64(1)}, {Name: "of another search", Of: "something"}},
		{{Name: "x", Of: 0.25}}, // the defaults again
		{{Name: "y", Of: 0.75}},
	}
	return config
}

func TestAStudyTriesItsDefaultsAndPointsFirst(t *testing.T) {
	t.Parallel()
	for _, algorithm := range all {
		l := begin(t, opened(algorithm))
		for i, want := range []string{"0.25 0", "0.5 1", "0.25 0.75"} {
			trial, _ := l.start(fmt.Sprint("worker", i))
			if got := fmt.Sprint(float(trial.Values, "x"), " ", float(trial.Values, "y")); got != want {
				t.Errorf("%s: trial %d: expected %s, got %s", algorithm, i, want, got)
			}
			l.end(trial, bowl(trial.Values))
		}
	}
}

func TestNoAlgorithmBeginsTheSameValuesTwiceOrMoreThanItMay(t *testing.T) {
	t.Parallel()
	for _, algorithm := range all {
		l := begin(t, opened(algorithm))
		l.search(func(t *tune.Trial) float64 {
			if noise(t, "failure") < 0.2 {
				return math.NaN()
			}
			return bowl(t.Values)
		})
		begun, keys := 0, map[string]bool{}
		for _, trial := range l.study.Trials {
			if trial.Parent == "" {
				begun++
				keys[trial.Values.Key()] = true
			}
		}
		if begun > 30 || begun != len(keys) || algorithm != tune.Hyperband && algorithm != tune.BOHB && begun != 30 {
			t.Errorf("%s: expected 30 trials of different values, got %d with %d", algorithm, begun, len(keys))
		}
	}
}

func TestEveryAlgorithmSearchesASpaceThatGrows(t *testing.T) {
	t.Parallel()
	for _, algorithm := range all {
		config := opened(algorithm)
		config.Space = append(config.Space, space.Parameter{Name: "deep", Kind: space.Boolean})
		l := begin(t, config)
		found := unit("depth")
		found.Conditions = []space.Condition{{Parent: "deep", Values: []any{true}}}
		depths := 0
		l.search(func(trial *tune.Trial) float64 {
			if trial.ID == "0015" {
				l.apply(tune.Entry{Space: space.Space{found}})
			}
			deep, _ := trial.Values.Lookup("deep")
			if _, there := trial.Values.Lookup("depth"); there {
				depths++
				if deep != true {
					t.Errorf("%s: trial %s: expected a depth of what is deep alone, got %v", algorithm, trial.ID, trial.Values)
				}
			}
			return bowl(trial.Values)
		})
		if depths == 0 {
			t.Errorf("%s: expected the parameter that was found to be tried", algorithm)
		}
	}
}

func TestAFinishedStudyTriesNothing(t *testing.T) {
	t.Parallel()
	for _, algorithm := range all {
		l := begin(t, opened(algorithm))
		l.start("worker")
		l.apply(tune.Entry{Finished: &tune.Finished{Why: tune.Stopped}})
		if _, verdict := l.start("another"); verdict != tune.Over {
			t.Errorf("%s: expected the end, got verdict %v", algorithm, verdict)
		}
	}
}

func TestAStudyWithoutAConfigIsAnError(t *testing.T) {
	t.Parallel()
	if _, _, err := suggest.Next(&tune.Study{}); err == nil || !strings.Contains(err.Error(), "has not begun") {
		t.Errorf("expected an error that says so, got %v", err)
	}
	unknown := tune.Study{Entries: 1, Config: tune.Config{Algorithm: tune.Algorithm{Name: "guess"}}}
	if _, _, err := suggest.Next(&unknown); err == nil || !strings.Contains(err.Error(), "asha, bayesian") {
		t.Errorf("expected an error that names the algorithms there are, got %v", err)
	}
}

func ExampleNext() {
	rate := space.Parameter{Name: "rate", Kind: space.Float, Min: 0.001, Max: 0.1, Sampling: space.Log}
	units := space.Parameter{Name: "units", Kind: space.Int, Min: 8, Max: 64, Step: 8, Sampling: space.Linear, Default: int64(32)}
	config := tune.Config{
		Space:      space.Space{rate, units},
		Objectives: []tune.Objective{{Name: "val_loss", Direction: tune.Min}},
		Algorithm:  tune.Algorithm{Name: tune.TPE},
		Defaults:   true,
	}
	var study tune.Study
	if err := study.Apply(tune.Entry{Begun: &tune.Begun{Config: config}, Stored: time.Unix(0, 0)}); err != nil {
		panic(err)
	}
	suggestion, verdict, err := suggest.Next(&study)
	fmt.Println(verdict == tune.Try, err, suggestion.Values)
	// Output: true <nil> [{rate 0.001} {units 32}]
}
