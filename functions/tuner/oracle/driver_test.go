package oracle_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tftest"
	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/functions/guest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/tuner/oracle"
)

// asked is a desk whose study is what a tuner_fn says.
type asked struct {
	*memory
	begun chan struct{}
}

func (a *asked) Study(ctx context.Context) (tune.Study, error) {
	select {
	case <-a.begun:
		return a.memory.Study(ctx)
	case <-ctx.Done():
		return tune.Study{}, ctx.Err()
	}
}

func (a *asked) Next(ctx context.Context, tuner string) (string, tune.Verdict, error) {
	if _, err := a.Study(ctx); err != nil {
		return "", tune.Wait, err
	}
	return a.memory.Next(ctx, tuner)
}

// shared runs a module's tuner_fn, whose trials come from a study in memory.
func shared(t *testing.T, path string, stop func(map[string][]tune.Point) bool) (*asked, guest.Outcome, error) {
	t.Helper()
	host, err := guest.New(guest.Options{Python: tftest.Python(t), CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	dir := t.TempDir()
	a := &asked{&memory{t: t, store: t.TempDir(), changed: make(chan struct{}), stop: stop}, make(chan struct{})}
	var outcome guest.Outcome
	err = oracle.With(t.Context(), a, func(s *oracle.Server) error {
		told := module.Assignment{
			Version: module.ProtocolVersion, Module: module.Source{Path: path, Keras: module.Keras3}, Call: module.CallTune,
			TrainFiles: []string{filepath.Join(dir, "Split-train", "*")}, WorkingDir: filepath.Join(dir, "working"),
			BestHyperparametersDir: filepath.Join(dir, "best"), TunerResultsDir: filepath.Join(dir, "results"),
			Oracle: &module.Oracle{Address: s.Address(), Tuner: "seat"},
		}
		outcome, err = host.Run(t.Context(), told, guest.Limits{}, func(m module.Message) {
			if m.Type != module.MessageStudy {
				return
			}
			var config tune.Config
			if err := errors.Join(json.Unmarshal(m.Study, &config), a.append(tune.Entry{Begun: &tune.Begun{Config: config}})); err != nil {
				t.Error(err)
			}
			close(a.begun)
		})
		return err
	})
	return a, outcome, err
}

func TestATunerFnTakesPartInAStudyEpochByEpoch(t *testing.T) {
	t.Parallel()
	path, err := filepath.Abs("testdata/random_search.py")
	if err != nil {
		t.Fatal(err)
	}
	stop := func(curves map[string][]tune.Point) bool { return len(curves["val_loss"]) == 2 }
	a, outcome, err := shared(t, path, stop)
	if err != nil {
		t.Fatalf("%v\n%s", err, outcome.LogTail)
	}
	c := a.study.Config
	valLoss := tune.Objective{Name: "val_loss", Direction: tune.Min}
	if c.Algorithm.Name != tune.Random || c.MaxTrials != 3 || c.Seed != 5 || c.Retries != 0 || c.Objectives[0] != valLoss ||
		len(c.Space) != 2 || c.Space[0].Name != "units" || c.Space[1].Name != "rate" {
		t.Errorf("config: %+v", c)
	}
	for i, trial := range a.study.Trials {
		if i == 1 { // its fit raises
			if trial.Status != tune.Failed || !strings.Contains(trial.Message, "no second trial") {
				t.Errorf("trial %s: %s, %q", trial.ID, trial.Status, trial.Message)
			}
			continue
		}
		score, _ := a.study.Score(trial)
		curve := trial.Curves["val_loss"]
		if trial.Status != tune.Completed || trial.Stopped != 2 || len(curve) != 2 || trial.Metrics["loss"] == 0 ||
			score != min(curve[0].Value, curve[1].Value) {
			t.Errorf("trial %s: %s, stopped at %d, score %v, curve %v", trial.ID, trial.Status, trial.Stopped, score, curve)
		}
	}
	if len(a.study.Trials) != 3 || a.study.Finished == nil {
		t.Errorf("%d trials, finished: %v", len(a.study.Trials), a.study.Finished)
	}
	if !strings.Contains(outcome.LogTail, "ValueError: no second trial") {
		t.Errorf("the log lacks the trial's traceback:\n%s", outcome.LogTail)
	}
}

func TestATunerWithAnOracleOfItsOwnSearchesByItself(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "own_oracle.py")
	if err := os.WriteFile(path, []byte(ownOracle), 0o600); err != nil {
		t.Fatal(err)
	}
	a, outcome, err := shared(t, path, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, outcome.LogTail)
	}
	if len(a.log) != 0 || outcome.Metrics["score"] != 3 ||
		!strings.Contains(outcome.LogTail, "the search runs whole in this one process: Own is no oracle of KerasTuner's own") {
		t.Errorf("%d entries, %v:\n%s", len(a.log), outcome.Metrics, outcome.LogTail)
	}
}

const ownOracle = `
import keras_tuner
from tfx.components.tuner.component import TunerFnResult

class Own(keras_tuner.oracles.RandomSearchOracle):
    def populate_space(self, trial_id):
        return {"status": "RUNNING", "values": {"x": int(trial_id) + 1}}

class Tuner(keras_tuner.engine.base_tuner.BaseTuner):
    def run_trial(self, trial):
        return {"score": trial.hyperparameters.Int("x", 0, 100)}

def tuner_fn(fn_args):
    oracle = Own(keras_tuner.Objective("score", "max"), max_trials=3)
    return TunerFnResult(tuner=Tuner(oracle, directory=fn_args.working_dir, project_name="p"), fit_kwargs={})
`
