package runner_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// changesItsArguments writes what it was given, and then changes that.
const changesItsArguments = `
import json, os

def run_fn(fn_args):
    given = {"train_steps": fn_args.train_steps, "eval_steps": fn_args.eval_steps, "custom_config": fn_args.custom_config,
             "hyperparameters": (fn_args.hyperparameters or {}).get("values")}
    with open(os.path.join(fn_args.working_dir, "given.json"), "w") as file:
        json.dump({name: value for name, value in given.items() if value is not None}, file)
    if fn_args.custom_config:
        fn_args.custom_config["units"] = "changed"
    fn_args.train_steps = 1
    os.makedirs(fn_args.serving_model_dir)
    open(os.path.join(fn_args.serving_model_dir, "saved_model.pb"), "w").close()
    # leave
`

func TestATFXModulesSettingsAreWhatItWasGiven(t *testing.T) {
	t.Parallel()
	host := pythonRunner(t)
	for name, change := range map[string]func(a *module.Assignment){
		"nothing": func(a *module.Assignment) { a.TrainSteps = nil },
		"all": func(a *module.Assignment) {
			a.EvalSteps, a.CustomConfig, a.Seed = new(5), map[string]any{"units": 8, "nested": map[string]any{"a": []any{1.5}}}, 7
			a.Hyperparameters = map[string]any{"values": map[string]any{"rate": 0.5}}
		},
		"leaves as a script does": func(a *module.Assignment) {
			text := strings.ReplaceAll(changesItsArguments, "# leave", "raise SystemExit(0)")
			if err := os.WriteFile(a.Module.Path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := pythonAssignment(t, changesItsArguments)
			change(&a)
			outcome, err := host.Run(t.Context(), a, runner.Limits{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(filepath.Join(a.WorkingDir, "given.json"))
			if err != nil {
				t.Fatal(err)
			}
			var given, settings map[string]any
			if err := json.Unmarshal(text, &given); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(outcome.Settings, &settings); err != nil {
				t.Fatalf("%s: %v", outcome.Settings, err)
			}
			maps.Copy(given, map[string]any{"seed": float64(a.Seed), "deterministic": false})
			if diff := cmp.Diff(given, settings); diff != "" {
				t.Errorf("(-given +said):\n%s", diff)
			}
		})
	}
}

func TestSettingsThatAreTooLongNameWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	a := pythonAssignment(t, changesItsArguments)
	a.CustomConfig = map[string]any{"long": strings.Repeat("x", module.MaxMessageBytes)}
	outcome, err := pythonRunner(t).Run(t.Context(), a, runner.Limits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var settings struct {
		LeftOut    []string `json:"left_out"`
		TrainSteps int      `json:"train_steps"`
	}
	if err := json.Unmarshal(outcome.Settings, &settings); err != nil || !slices.Equal(settings.LeftOut, []string{"custom_config"}) || settings.TrainSteps != 3 {
		t.Errorf("%s, %v", outcome.Settings, err)
	}
}

// What a process says instead of an object is log.
func TestSettingsThatAreNoObjectAreNone(t *testing.T) {
	t.Parallel()
	host := newRunner(t, 0)
	outcome, err := host.Run(t.Context(), assignment(t, "settings"), runner.Limits{}, nil)
	if err != nil || string(outcome.Settings) != `{"units":8}` || !strings.Contains(outcome.LogTail, `on the progress descriptor: "{\"type\":\"settings\",\"settings\":[1]}`) {
		t.Errorf("%s, %v, log %s", outcome.Settings, err, outcome.LogTail)
	}
}
