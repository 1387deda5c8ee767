package suggest_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// noise returns a number from 0 to 1 that depends on a trial's values and its epochs.
func noise(t *tune.Trial, salt string) float64 {
	own := func(v space.Value) bool { return strings.HasPrefix(v.Name, space.Own) }
	return space.NewStream(1, t.Epochs).Float64(fmt.Sprint(salt, slices.DeleteFunc(slices.Clone(t.Values), own)), 0)
}

// shuffled runs to the end with several workers, each of which may be the next to end its trial, to
// fail at its first try, or to die and have its trial taken over.
func (l *lab) shuffled(workers int, order *rand.Rand, objective func(*tune.Trial) float64) {
	l.Helper()
	for turn := 0; ; turn++ {
		running := l.study.Running()
		if len(running) < workers && order.IntN(3) > 0 || len(running) == 0 {
			_, verdict := l.start(fmt.Sprint("worker", turn))
			if verdict == tune.Try {
				continue
			}
			if len(running) == 0 {
				return
			}
		}
		switch t := running[order.IntN(len(running))]; {
		case order.IntN(5) == 0:
			l.apply(tune.Entry{Taken: &tune.Taken{Trial: t.ID, Owner: tune.Owner{Job: t.Owner.Job, Attempt: fmt.Sprint(t.Owner.Attempt, turn)}}})
		case order.IntN(5) == 0 && t.Tries <= l.study.Config.Retries:
			l.end(t, math.NaN())
		case math.IsNaN(objective(t)) && t.Tries <= l.study.Config.Retries:
			l.end(t, math.NaN()) // and repeatedly
		default:
			l.end(t, objective(t))
		}
	}
}

// outcome returns what was tried, for how long, and the scores.
func (l *lab) outcome() map[string]int {
	trials := map[string]int{}
	for _, t := range l.study.Trials {
		trials[fmt.Sprint(t.Values.Key(), t.Iteration, t.Bracket, t.Round, t.From, t.Epochs, t.Status)]++
	}
	return trials
}

func differences(want, got map[string]int) (differences []string) {
	for _, pair := range [][2]map[string]int{{want, got}, {got, want}} {
		for key, n := range pair[0] {
			if pair[1][key] != n && len(differences) < 4 {
				differences = append(differences, key)
			}
		}
	}
	return differences
}

func TestHyperbandComesToTheSameWhoeverEndsFirst(t *testing.T) {
	t.Parallel()
	step := space.Parameter{Name: "step", Kind: space.Int, Min: 1, Max: 40, Step: 1, Sampling: space.Linear}
	for _, c := range []struct {
		name       string
		space      space.Space
		iterations int
		failing    float64
	}{
		{"all succeed", space.Space{unit("x"), unit("y")}, 1, 0},
		{"two in ten fail", space.Space{unit("x"), unit("y")}, 2, 0.2},
		{"half fail", space.Space{unit("x"), unit("y")}, 1, 0.5},
		{"nine in ten fail", space.Space{unit("x"), unit("y")}, 1, 0.9},
		{"a small space, all tried", space.Space{step}, 2, 0},
		{"a small space, some fail", space.Space{step}, 3, 0.2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			objective := func(t *tune.Trial) float64 {
				if noise(t, "failure") < c.failing {
					return math.NaN()
				}
				return math.Floor(20*noise(t, "score")) / 20 // some are equal
			}
			config := config(tune.Algorithm{Name: tune.Hyperband, MaxEpochs: 30, Iterations: c.iterations}, c.space...)
			config.Defaults, config.MaxFailures, config.Seed = true, 1e6, 3
			alone := begin(t, config)
			alone.search(objective)
			want := alone.outcome()
			for seed := range uint64(8) {
				order := rand.New(rand.NewPCG(seed, 0))
				config.Parallel, config.Retries = 1+order.IntN(9), order.IntN(3)
				l := begin(t, config)
				l.shuffled(config.Parallel, order, objective)
				if got := l.outcome(); !maps.Equal(got, want) {
					t.Fatalf("order %d, %d workers: expected what one worker finds, %d trials, got %d; they differ in\n%v",
						seed, config.Parallel, len(alone.study.Trials), len(l.study.Trials), differences(want, got))
				}
			}
		})
	}
}

func TestHyperbandLosesNoPromotionToAFailure(t *testing.T) {
	t.Parallel()
	// KerasTuner, which loses a promotion with every third trial that fails, stops after 17 of 23
	// trials without any promotion.
	config := hyperbandOf(9)
	config.MaxFailures = 1e6
	l := begin(t, config)
	l.search(func(t *tune.Trial) float64 {
		if noise(t, "failure") < 1./3 {
			return math.NaN()
		}
		return noise(t, "score")
	})
	succeeded := map[[2]int]int{}
	for _, t := range l.study.Trials {
		if t.Status == tune.Completed {
			succeeded[[2]int{t.Bracket, t.Round}]++
		}
	}
	want := map[[2]int]int{{2, 0}: 9, {2, 1}: 3, {2, 2}: 1, {1, 0}: 5, {1, 1}: 2, {0, 0}: 3}
	if !maps.Equal(succeeded, want) {
		t.Errorf("expected the schedule's trials to succeed, by bracket and round %v, got %v", want, succeeded)
	}
}

func TestHyperbandEndsWhenNothingCanBeTried(t *testing.T) {
	t.Parallel()
	config := hyperbandOf(9)
	config.MaxFailures = 1e6
	l := begin(t, config)
	l.search(func(*tune.Trial) float64 { return math.NaN() })
	if got := len(l.study.Trials); got != 2*17 {
		t.Errorf("expected as many replacements as there are places, 34 trials, got %d", got)
	}
}

func TestHyperbandFillsTheNextBracketMeanwhile(t *testing.T) {
	t.Parallel()
	config := hyperbandOf(9)
	config.Parallel = 100
	l := begin(t, config)
	for range 17 {
		if _, verdict := l.start(l.study.NextID()); verdict != tune.Try {
			t.Fatalf("expected 17 configurations to be begun at once, got %d", len(l.study.Trials))
		}
	}
	if _, verdict := l.start("one more"); verdict != tune.Wait {
		t.Fatalf("expected to wait for a promotion, got %v", verdict)
	}
	for _, trial := range l.study.Trials[:7] {
		l.end(trial, float(trial.Values, "x"))
	}
	promoted, _ := l.start("one more")
	if promoted == nil || promoted.Bracket != 2 || promoted.Round != 1 {
		t.Errorf("expected a promotion in its own bracket, 2, got %+v", promoted)
	}
}
