package suggest_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/suggest"
)

func ashaOf(maxTrials int) tune.Config {
	config := config(tune.Algorithm{Name: tune.ASHA, MaxEpochs: 16, Factor: 4}, unit("x"), unit("y"))
	config.MaxTrials, config.MaxFailures = maxTrials, 1e6
	return config
}

// rungs counts the trials of each rung.
func (l *lab) rungs() (rungs [3]int) {
	for _, t := range l.study.Trials {
		rungs[t.Round]++
	}
	return rungs
}

func TestASHABeginsAsManyConfigurationsAsItMay(t *testing.T) {
	t.Parallel()
	l := begin(t, ashaOf(64))
	l.search(func(t *tune.Trial) float64 { return noise(t, "score") })
	rungs := l.rungs()
	if rungs[0] != 64 || rungs[1] < 16 || rungs[2] < 4 {
		t.Errorf("expected 64 configurations, of which 16 go on to 4 epochs, and 4 to 16, or some more, got %v", rungs)
	}
	for _, trial := range l.study.Trials {
		if want := [3][2]int{{0, 1}, {1, 4}, {4, 16}}[trial.Round]; want != [2]int{trial.From, trial.Epochs} {
			t.Errorf("trial %s of rung %d: expected epochs %v, got %d to %d", trial.ID, trial.Round, want, trial.From, trial.Epochs)
		}
	}
}

func TestASHANeverWaitsWhileNewTrialsMayBeBegun(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		order := rand.New(rand.NewPCG(seed, 0))
		config := ashaOf(50)
		config.Parallel, config.Retries = 100, order.IntN(2)
		l := begin(t, config)
		l.shuffled(1+order.IntN(10), order, func(t *tune.Trial) float64 {
			if l.study.Remaining() > 0 {
				if _, verdict, _ := suggest.Next(&l.study); verdict != tune.Try {
					l.Fatalf("trial %s: expected something to try, got %v", t.ID, verdict)
				}
			}
			if noise(t, "failure") < 0.2 {
				return math.NaN()
			}
			return noise(t, "score")
		})
		if rungs := l.rungs(); rungs[0] != 50 {
			t.Errorf("order %d: expected 50 configurations, got %v", seed, rungs)
		}
	}
}

func TestASHAPromotesTheBestQuarterOnly(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		order := rand.New(rand.NewPCG(seed, 0))
		config := ashaOf(40)
		config.Parallel = 1 + order.IntN(10)
		l := begin(t, config)
		l.shuffled(config.Parallel, order, func(t *tune.Trial) float64 { return noise(t, "score") })
		for _, promoted := range l.study.Trials {
			if promoted.Parent == "" {
				continue
			}
			parent, better := l.study.Trial(promoted.Parent), 0
			for _, other := range l.study.Trials {
				if other.Round == parent.Round && !other.Ended.After(promoted.Started) && noise(other, "score") <= noise(parent, "score") {
					better++
				}
			}
			done := 0
			for _, other := range l.study.Trials {
				if other.Round == parent.Round && !other.Ended.After(promoted.Started) {
					done++
				}
			}
			if better > max(1, done/4) {
				t.Errorf("order %d: trial %s of rung %d went on as the %d. best of %d", seed, parent.ID, parent.Round, better, done)
			}
		}
	}
}

func TestASHAHasATrialOfAllEpochsHoweverFewThereAre(t *testing.T) {
	t.Parallel()
	for trials := range 15 {
		l := begin(t, ashaOf(trials+1))
		l.search(func(t *tune.Trial) float64 { return noise(t, "score") })
		if rungs := l.rungs(); rungs[0] != trials+1 || rungs[2] != 1 {
			t.Errorf("expected %d configurations and one trial of 16 epochs, got %v", trials+1, rungs)
		}
	}
}

func TestASHAGivesThePlaceOfAFailedPromotionToTheNext(t *testing.T) {
	t.Parallel()
	l := begin(t, ashaOf(8))
	failures := 0
	l.search(func(t *tune.Trial) float64 {
		if t.Round == 1 && failures < 2 {
			failures++
			return math.NaN()
		}
		return noise(t, "score")
	})
	alive := 0
	for _, trial := range l.study.Trials {
		if trial.Round == 1 && trial.Status == tune.Completed {
			alive++
		}
	}
	if alive < 2 {
		t.Errorf("expected the best 2 of 8 to have gone on, got %d of %v", alive, l.rungs())
	}
}
