package runner_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// searches is a TFX module whose search keeps its trials below working_dir. Its process is killed in the fourth one, when it has
// begun with the first one.
const searches = `
import os, signal, time
import keras_tuner
from tfx.components.tuner.component import TunerFnResult

class Tuner(keras_tuner.engine.base_tuner.BaseTuner):
    began = False

    def run_trial(self, trial, killed):
        number = self.oracle.start_order.index(trial.trial_id) + 1
        print("runs trial", number)
        Tuner.began = Tuner.began or number == 1
        if Tuner.began:
            if number == killed:
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(1.1)  # a trial of some length
        return {"score": trial.hyperparameters.Float("x", 0, 1)}

def tuner_fn(fn_args):
    assert fn_args.model_run_dir is None and fn_args.serving_model_dir is None
    oracle = keras_tuner.oracles.RandomSearchOracle(keras_tuner.Objective("score", "max"), max_trials=6, seed=5)
    return TunerFnResult(tuner=Tuner(oracle, directory=fn_args.working_dir, project_name="p"), fit_kwargs={"killed": 4})
`

func TestASearchGoesOnWithTheTrialInWhichItWasKilled(t *testing.T) {
	t.Parallel()
	host, err := runner.New(runner.Options{Python: tftest.Python(t), CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	a := pythonAssignment(t, searches)
	out := t.TempDir()
	a.Call, a.ServingModelDir, a.ModelRunDir, a.Module.Keras = module.CallTune, "", "", module.Keras3
	a.BestHyperparametersDir, a.TunerResultsDir = filepath.Join(out, "best"), filepath.Join(out, "results")

	kept := t.TempDir() // a folder for each checkpoint, as a worker keeps them
	taken, newest := 0, ""
	outcome, err := host.Run(t.Context(), a, runner.Limits{}, func(m module.Message) {
		if m.Type == module.MessageCheckpoint {
			taken++
			newest = filepath.Join(kept, fmt.Sprint(taken))
			if err := os.CopyFS(newest, os.DirFS(a.WorkingDir)); err != nil {
				t.Error(err)
			}
		}
	})
	if failed := asError(t, err); failed.Kind != runner.KindCrash || newest == "" {
		t.Fatalf("%s: %v, %d checkpoints\n%s", failed.Kind, err, taken, outcome.LogTail)
	}

	a.WorkingDir = newest
	var phases []string
	outcome, err = host.Run(t.Context(), a, runner.Limits{}, func(m module.Message) { phases = append(phases, m.Phase) })
	if err != nil {
		t.Fatal(err, outcome.LogTail)
	}
	ran := strings.Contains(outcome.LogTail, "runs trial 4\n")
	if slices.Contains(phases, "trial 3") || !slices.Contains(phases, "trial 4") || !ran {
		t.Errorf("phases %q; log\n%s", phases, outcome.LogTail)
	}
	checkTuned(t, a, outcome)
}

func checkTuned(t *testing.T, a module.Assignment, outcome runner.Outcome) {
	t.Helper()
	var trials []struct {
		Score, X float64
		TrialID  string `json:"trial_id"`
	}
	var best struct {
		Space  []any
		Values struct{ X float64 }
	}
	for path, into := range map[string]any{
		filepath.Join(a.TunerResultsDir, "tuner_results.json"):              &trials,
		filepath.Join(a.BestHyperparametersDir, "best_hyperparameters.txt"): &best,
	} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, into); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	if len(trials) != 6 || trials[0].Score != outcome.Metrics["score"] || trials[0].X != best.Values.X || len(best.Space) != 1 {
		t.Errorf("trials %+v, best %+v, metrics %v", trials, best, outcome.Metrics)
	}
	for i := 1; i < len(trials); i++ {
		if trials[i].Score > trials[i-1].Score {
			t.Errorf("not best first: %+v", trials)
		}
	}
}
