package suggest_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// olderStudies are 30 results each of a function of the unit square, one study for each function.
func olderStudies(of ...func(space.Values) float64) (all []tune.Earlier) {
	for study, f := range of {
		stream := space.NewStream(int64(study), 0)
		for n := range 30 {
			values := space.Values{{Name: "x", Of: stream.Float64("x", n)}, {Name: "y", Of: stream.Float64("y", n)}}
			all = append(all, tune.Earlier{Values: values, Metrics: map[string]float64{"loss": f(values)}, Study: study + 1})
		}
	}
	return all
}

// other is a bowl in another unit, whose minimum is near that of bowl.
func other(values space.Values) float64 {
	return 1000 + 70*(math.Pow(float(values, "x")-0.75, 2)+math.Pow(float(values, "y")-0.35, 2))
}

func opposite(values space.Values) float64 { return -bowl(values) }

// bestAfter returns the best score of a search of the bowl, in the median over seeds.
func bestAfter(t *testing.T, algorithm string, trials int, earlier []tune.Earlier) float64 {
	return median(func(seed int64) float64 {
		config := tpeOf(trials, unit("x"), unit("y"))
		config.Algorithm.Name, config.Seed, config.Earlier = algorithm, seed, earlier
		l := begin(t, config)
		l.search(func(t *tune.Trial) float64 { return bowl(t.Values) })
		score, _ := l.study.Score(l.study.Best()[0])
		return score
	})
}

func TestOlderStudiesThatAgreeHelp(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []string{tune.TPE, tune.Bayesian} {
		cold, warm := bestAfter(t, algorithm, 8, nil), bestAfter(t, algorithm, 8, olderStudies(other, opposite))
		if warm > cold/2 {
			t.Errorf("%s: expected half of the loss that is found in 8 trials without older studies, %v, or less, got %v", algorithm, cold, warm)
		}
	}
}

func TestOlderStudiesThatMisleadDoNoHarm(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []string{tune.TPE, tune.Bayesian} {
		random := bestAfter(t, tune.Random, 30, nil)
		cold, warm := bestAfter(t, algorithm, 30, nil), bestAfter(t, algorithm, 30, olderStudies(opposite, opposite))
		if warm > max(2*cold, random/4) {
			t.Errorf("%s: expected about the loss that is found in 30 trials without older studies, %v, got %v", algorithm, cold, warm)
		}
	}
}

func TestTheBestOfOlderStudiesTakeTurnsWithOthers(t *testing.T) {
	t.Parallel()
	earlier := olderStudies(other, bowl)
	best := map[int]tune.Earlier{}
	for _, e := range earlier {
		if b, there := best[e.Study]; !there || e.Metrics["loss"] < b.Metrics["loss"] {
			best[e.Study] = e
		}
	}
	for _, algorithm := range []string{tune.TPE, tune.Bayesian} {
		config := tpeOf(4, unit("x"), unit("y"))
		config.Algorithm.Name, config.Earlier = algorithm, earlier
		l := begin(t, config)
		l.search(func(t *tune.Trial) float64 { return bowl(t.Values) })
		for number, study := range map[int]int{0: 1, 2: 2} {
			if got, want := l.study.Trials[number].Key(), best[study].Values.Key(); got != want {
				t.Errorf("%s: trial %d: expected the best of study %d, %v, got %v", algorithm, number, study, want, got)
			}
		}
		for _, number := range []int{1, 3} {
			for _, e := range earlier {
				if l.study.Trials[number].Key() == e.Values.Key() {
					t.Errorf("%s: trial %d: expected values that no older study has tried, got %v", algorithm, number, e.Values)
				}
			}
		}
	}
}

// Several groups of parameters, and several older studies: sums must not depend on the order of
// maps.
func TestASearchWithOlderStudiesIsTheSameOnEachWorker(t *testing.T) {
	t.Parallel()
	in := append(family(), unit("x"), unit("y"))
	older := func() (all []tune.Earlier) {
		for study := range 3 {
			config := tpeOf(20, in...)
			config.Seed = int64(study)
			l := begin(t, config)
			l.search(func(t *tune.Trial) float64 { return crop(t.Values) + bowl(t.Values) })
			for _, trial := range l.study.Trials {
				all = append(all, tune.Earlier{Values: trial.Values, Metrics: trial.Metrics, Study: study + 1})
			}
		}
		return all
	}
	for _, algorithm := range []string{tune.TPE, tune.Bayesian} {
		last := ""
		for range 4 {
			config := tpeOf(20, in...)
			config.Algorithm.Name, config.Earlier = algorithm, older()
			l := begin(t, config)
			l.search(func(t *tune.Trial) float64 { return crop(t.Values) + bowl(t.Values) })
			tried := ""
			for _, trial := range l.study.Trials {
				tried += fmt.Sprintln(trial.Values)
			}
			if last != "" && tried != last {
				t.Fatalf("%s: expected what was tried before,\n%s, got\n%s", algorithm, last, tried)
			}
			last = tried
		}
	}
}

func TestNumbersOfOlderStudiesMayBeAny(t *testing.T) {
	t.Parallel()
	earlier := olderStudies(other)
	for i := range earlier {
		earlier[i].Study = math.MaxInt
	}
	config := tpeOf(1, unit("x"), unit("y"))
	config.Earlier = earlier
	l := begin(t, config)
	l.search(func(t *tune.Trial) float64 { return bowl(t.Values) })
	if len(l.study.Trials) != 1 {
		t.Errorf("expected a trial, got %d", len(l.study.Trials))
	}
}
