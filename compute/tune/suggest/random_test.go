package suggest_test

import (
	"testing"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// skewed is a space whose points are far from equally likely: KerasTuner gives up on the last of
// these.
var skewed = space.Space{
	{Name: "n", Kind: space.Int, Min: 1, Max: 200, Sampling: space.Log},
	{Name: "z", Kind: space.Boolean},
}

func TestRandomTriesEveryPointOfAFiniteSpaceOnce(t *testing.T) {
	t.Parallel()
	c := config(tune.Algorithm{Name: tune.Random}, skewed...)
	c.MaxTrials = 1000
	l := begin(t, c)
	l.search(func(*tune.Trial) float64 { return 1 })
	keys := map[string]bool{}
	for _, trial := range l.study.Trials {
		keys[trial.Values.Key()] = true
	}
	if len(keys) != 400 || len(l.study.Trials) != 400 {
		t.Errorf("%d points in %d trials, expected 400", len(keys), len(l.study.Trials))
	}
}

// A draw depends on the seed and the trial: other seeds share no trial, which KerasTuner's
// neighboring seeds do.
func TestRandomDrawsByTheSeed(t *testing.T) {
	t.Parallel()
	keys := map[string]int64{}
	for seed := range int64(4) {
		c := config(tune.Algorithm{Name: tune.Random}, unit("x"), unit("y"))
		c.Seed, c.MaxTrials = seed, 50
		for range 2 { // again: the same
			l := begin(t, c)
			l.search(func(*tune.Trial) float64 { return 1 })
			for _, trial := range l.study.Trials {
				key := trial.Values.Key()
				if other, ok := keys[key]; ok && other != seed {
					t.Errorf("seeds %d and %d share %s", seed, other, key)
				}
				keys[key] = seed
			}
		}
	}
	if len(keys) != 4*50 {
		t.Errorf("%d different trials, expected 200", len(keys))
	}
}

func TestRandomWaitsForParametersOfARunningTrial(t *testing.T) {
	t.Parallel()
	l := begin(t, config(tune.Algorithm{Name: tune.Random}, space.Parameter{Name: "z", Kind: space.Boolean}))
	l.study.Config.Parallel = 2
	one, _ := l.start("one")
	l.start("two")
	if _, verdict := l.start("three"); verdict != tune.Wait {
		t.Fatalf("verdict %v while trials run", verdict)
	}
	l.apply(tune.Entry{Space: space.Space{{Name: "y", Kind: space.Boolean}}})
	l.end(one, 1)
	if _, verdict := l.start("one"); verdict != tune.Try {
		t.Errorf("verdict %v after another parameter was found", verdict)
	}
}
