package suggest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/stoker-ml/stoker/compute/tune"
)

// recorded is KerasTuner's behavior: its schedules, and three searches by one worker.
type recorded struct {
	Table map[string]struct {
		Brackets []struct {
			Bracket int
			Rounds  []struct {
				Round, Size, Epochs int
				From                int `json:"initial_epoch"`
			}
		}
		Trials  int `json:"trials_per_iteration"`
		Random  int `json:"random_configs"`
		Epochs  int `json:"epochs_per_iteration_incremental"`
		Factor  int
		Numbers int `json:"num_brackets"`
	}
	Simulation map[string]struct {
		Trials   int
		Sequence []any // of trials, and at last how the search ended
	}
}

func readRecorded(t *testing.T) (r recorded) {
	t.Helper()
	text, err := os.ReadFile("testdata/hyperband.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func hyperbandOf(epochs int) tune.Config {
	return config(tune.Algorithm{Name: tune.Hyperband, MaxEpochs: epochs, Factor: 3}, unit("x"), unit("y"))
}

func TestHyperbandHasKerasTunersSchedule(t *testing.T) {
	t.Parallel()
	for maxEpochs, want := range readRecorded(t).Table {
		epochs, _ := strconv.Atoi(maxEpochs)
		l := begin(t, hyperbandOf(epochs))
		l.search(func(trial *tune.Trial) float64 { return float(trial.Values, "x") })

		type rung struct{ bracket, round, from, epochs int }
		counted := map[rung]int{}
		spent, random := 0, 0
		for _, trial := range l.study.Trials {
			counted[rung{trial.Bracket, trial.Round, trial.From, trial.Epochs}]++
			spent += trial.Epochs - trial.From
			if trial.Parent == "" {
				random++
			}
		}
		for _, b := range want.Brackets {
			for _, r := range b.Rounds {
				if got := counted[rung{b.Bracket, r.Round, r.From, r.Epochs}]; got != r.Size {
					t.Errorf("%s epochs: bracket %d, round %d from %d to %d: expected %d trials, got %d",
						maxEpochs, b.Bracket, r.Round, r.From, r.Epochs, r.Size, got)
				}
			}
		}
		if got := len(l.study.Trials); got != want.Trials || random != want.Random || spent != want.Epochs {
			t.Errorf("%s epochs: expected %d trials, %d of them random, of %d epochs in all, got %d, %d and %d",
				maxEpochs, want.Trials, want.Random, want.Epochs, got, random, spent)
		}
	}
}

func TestHyperbandPromotesWhomKerasTunerDoes(t *testing.T) {
	t.Parallel()
	for maxEpochs, want := range readRecorded(t).Simulation {
		epochs, _ := strconv.Atoi(maxEpochs)
		l := begin(t, hyperbandOf(epochs))
		for _, row := range want.Sequence[:want.Trials] {
			step := row.([]any)
			trial, verdict := l.start("worker")
			if verdict != tune.Try {
				t.Fatalf("%s epochs: trial %v: expected one, got verdict %v", maxEpochs, step[0], verdict)
			}
			parent, _ := step[5].(string)
			expected := fmt.Sprint(step[0], step[1], step[2], step[3], step[4], parent)
			if got := fmt.Sprint(trial.ID, float64(trial.Bracket), float64(trial.Round), float64(trial.Epochs), float64(trial.From),
				trial.Parent); got != expected {
				t.Fatalf("%s epochs: expected id, bracket, round, epochs, initial epoch and parent %v, got %v", maxEpochs, expected, got)
			}
			l.end(trial, step[6].(float64))
		}
		if _, verdict := l.start("worker"); verdict != tune.Over {
			t.Errorf("%s epochs: expected the end, got verdict %v", maxEpochs, verdict)
		}
	}
}

func TestHyperbandPutsTheBudgetIntoTheValues(t *testing.T) {
	t.Parallel()
	l := begin(t, hyperbandOf(3))
	l.search(func(trial *tune.Trial) float64 { return float(trial.Values, "x") })
	promoted := l.study.Trials[3]
	if promoted.Parent == "" {
		t.Fatalf("expected trial 0003 to be a promotion, got %+v", promoted.Suggestion)
	}
	var names []string
	for _, value := range promoted.Values {
		names = append(names, value.Name)
	}
	expected := "[x y tuner/epochs tuner/initial_epoch tuner/bracket tuner/round tuner/trial_id]"
	if fmt.Sprint(names) != expected {
		t.Errorf("expected %s, got %v", expected, names)
	}
	if id, _ := promoted.Values.Lookup("tuner/trial_id"); id != promoted.Parent || float(promoted.Values, "tuner/epochs") != 3 ||
		float(promoted.Values, "tuner/initial_epoch") != 1 || float(promoted.Values, "tuner/bracket") != 1 {
		t.Errorf("expected the budget of a promotion of %s from 1 epoch to 3, got %v", promoted.Parent, promoted.Values)
	}
	if promoted.Values.Key() != l.study.Trial(promoted.Parent).Values.Key() {
		t.Error("expected a promotion to have its parent's values, but for its budget")
	}
}
