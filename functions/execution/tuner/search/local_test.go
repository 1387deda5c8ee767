package search_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/functions/execution/tuner/search"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runner"
)

func TestASearchAloneLeavesWhatATuneJobPublishes(t *testing.T) {
	t.Parallel()
	a := alone(t, tune.Config{Algorithm: tune.Algorithm{Name: tune.Grid}}, nil)
	study, err := a.Make(t.Context())
	if err != nil || len(study.Trials) != 4 || study.Finished == nil || study.Finished.Why != tune.Exhausted {
		t.Fatalf("study is %+v, %v", study, err)
	}
	text, err := os.ReadFile(filepath.Join(a.Base.BestHyperparametersDir, "best_hyperparameters.txt"))
	if err != nil || !strings.Contains(string(text), `"values": {"units": 4}`) {
		t.Errorf("best_hyperparameters.txt is %s, %v", text, err)
	}
	for name, want := range map[string]string{"tuner_results.json": `[{"trial_id": "0003", "score": 4.0, "units": 4}`, "study/trials.csv": "0003", "study/log.jsonl": `"finished"`} {
		text, err := os.ReadFile(filepath.Join(a.Base.TunerResultsDir, name))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s is %s, %v", name, text, err)
		}
	}
	if left, err := os.ReadDir(a.Dir); err == nil && len(left) > 0 {
		t.Errorf("trials left %v", left)
	}
}

func TestASearchAloneGoesOnFromAParentsState(t *testing.T) {
	t.Parallel()
	resumed := 0
	a := alone(t, tune.Config{Algorithm: tune.Algorithm{Name: tune.Hyperband, MaxEpochs: 4, Factor: 2}}, func(assignment module.Assignment) error {
		state := filepath.Join(assignment.WorkingDir, "state")
		parent, err := os.ReadFile(state)
		if (err == nil) != (assignment.Trial.Parent != "") || string(parent) != assignment.Trial.Parent {
			return errors.New("trial " + assignment.Trial.ID + " goes on from " + string(parent) + ", expected " + assignment.Trial.Parent)
		}
		if err == nil {
			resumed++
		}
		return os.WriteFile(state, []byte(assignment.Trial.ID), 0o600)
	})
	study, err := a.Make(t.Context())
	if err != nil || resumed == 0 {
		t.Errorf("%d trials of %d went on from another, %v", resumed, len(study.Trials), err)
	}
}

func TestASearchAloneOfWhichAllFailsSaysWhy(t *testing.T) {
	t.Parallel()
	a := alone(t, tune.Config{Algorithm: tune.Algorithm{Name: tune.Random}}, func(module.Assignment) error {
		return &runner.Error{Kind: runner.KindModule, Err: errors.New("diverged")}
	})
	if _, err := a.Make(t.Context()); err == nil || !strings.Contains(err.Error(), "diverged") {
		t.Errorf("error is %v", err)
	}
	bad := alone(t, tune.Config{}, func(module.Assignment) error {
		return &runner.Error{Kind: runner.KindInput, Err: errors.New("record 3")}
	})
	if study, err := bad.Make(t.Context()); err == nil || err.Error() != "record 3" || len(study.Trials) != 1 {
		t.Errorf("%d trials, error is %v", len(study.Trials), err)
	}
}

// alone is a search over four points; a point is its own score.
func alone(t *testing.T, config tune.Config, train func(module.Assignment) error) search.Local {
	t.Helper()
	config.Space = space.Space{{Name: "units", Kind: space.Int, Min: 1, Max: 4, Step: 1, Sampling: space.Linear}}
	config.Objectives = []tune.Objective{{Name: "accuracy"}}
	said, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	return search.Local{
		Wanted: said, Search: pipeline.Search{}, Dir: filepath.Join(t.TempDir(), "trials"),
		Base:    module.Assignment{BestHyperparametersDir: t.TempDir(), TunerResultsDir: t.TempDir()},
		OnStudy: func(tune.Study) {}, OnMessage: func(module.Message) {},
		Run: func(_ context.Context, assignment module.Assignment, _ func(module.Message)) (runner.Outcome, error) {
			values, _ := assignment.Hyperparameters["values"].(map[string]any)
			units, _ := values["units"].(float64)
			if train != nil {
				return runner.Outcome{Metrics: map[string]float64{"accuracy": units}}, train(assignment)
			}
			return runner.Outcome{Metrics: map[string]float64{"accuracy": units}}, nil
		},
	}
}
