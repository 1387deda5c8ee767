package oracle_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/functions/execution/tuner/oracle"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// asked is a backend whose study is the one that a tuner_fn asks for.
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

// unasked is a backend whose study has not been begun.
func unasked(t *testing.T) *asked {
	return &asked{&memory{t: t, store: t.TempDir(), changed: make(chan struct{})}, make(chan struct{})}
}

// run has a module's tuner_fn take its trials from the study, in a process with a directory of its
// own.
func (a *asked) run(ctx context.Context, t *testing.T, path, tuner string) (outcome runner.Outcome, err error) {
	t.Helper()
	host, err := runner.New(runner.Options{Python: tftest.Python(t), CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	dir := t.TempDir()
	err = oracle.With(ctx, a, func(s *oracle.Server) error {
		sent := module.Assignment{
			Version: module.ProtocolVersion, Module: module.Source{Path: path, Keras: module.Keras3}, Call: module.CallTune,
			TrainFiles: []string{filepath.Join(dir, "Split-train", "*")}, WorkingDir: filepath.Join(dir, "working"),
			BestHyperparametersDir: filepath.Join(dir, "best"), TunerResultsDir: filepath.Join(dir, "results"),
			Oracle: &module.Oracle{Address: s.Address(), Tuner: tuner},
		}
		outcome, err = host.Run(ctx, sent, runner.Limits{Grace: 20 * time.Second}, func(m module.Message) {
			if m.Type == module.MessageStudy {
				a.begin(t, m.Study)
			}
		})
		return err
	})
	return outcome, err
}

// begin begins the study unless it has been begun.
func (a *asked) begin(t *testing.T, said []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.study.Entries > 0 {
		return
	}
	var config tune.Config
	err := json.Unmarshal(said, &config)
	config.Parallel = 2
	if err := errors.Join(err, a.append(tune.Entry{Begun: &tune.Begun{Config: config}})); err != nil {
		t.Error(err)
	}
	close(a.begun)
}

func TestATunerFnTakesPartInAStudyEpochByEpoch(t *testing.T) {
	t.Parallel()
	path, err := filepath.Abs("testdata/random_search.py")
	if err != nil {
		t.Fatal(err)
	}
	a := unasked(t)
	a.stop = func(curves map[string][]tune.Point) bool { return len(curves["val_loss"]) == 2 }
	outcome, err := a.run(t.Context(), t, path, "tuner-0")
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
	a := unasked(t)
	outcome, err := a.run(t.Context(), t, path, "tuner-0")
	if err != nil {
		t.Fatalf("%v\n%s", err, outcome.LogTail)
	}
	if len(a.log) != 0 || outcome.Metrics["score"] != 3 ||
		!strings.Contains(outcome.LogTail, "the whole search runs in this process: Own is not one of KerasTuner's own oracles") {
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
