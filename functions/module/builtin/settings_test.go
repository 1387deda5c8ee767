package builtin_test

import (
	"encoding/json"
	"maps"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/functions/module"
)

// settingsOf returns the settings of a training from its last message of that type.
func settingsOf(t *testing.T, messages []module.Message) map[string]any {
	t.Helper()
	var all map[string]any
	for _, m := range messages {
		if m.Type != module.MessageSettings {
			continue
		}
		if err := json.Unmarshal(m.Settings, &all); err != nil {
			t.Fatal(err)
		}
	}
	if all == nil {
		t.Fatal("the training did not say what it uses")
	}
	return all
}

// A pipeline that sets everything that another one leaves to defaults gives the same model, to the
// byte: the reported settings are complete and true.
func TestATrainingFromTheSettingsThatWereReportedIsTheSame(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]map[string]any{
		"dnn":    {"label": "species"},
		"linear": {"label": "culmen_depth_mm", "loss": "huber"},
		"wide_deep": {"label": "tips", "dropout": 0.1, "normalize": map[string]any{"fare": "minmax"},
			"crosses": []any{[]any{"trip_start_hour", "trip_start_day"}}, "learning_rate_schedule": map[string]any{"name": "CosineDecay", "decay_steps": 20}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := map[bool]string{false: "penguin", true: "taxi"}[name == "wide_deep"]
			first := assignment(t, data, false, config)
			first.TrainSteps, first.Seed = new(20), 7
			settings := settingsOf(t, run(t, name, first))
			if delta := settings["huber_delta"]; config["loss"] == "huber" && delta != 1.0 {
				t.Errorf("huber_delta is %v, want Keras's 1", delta)
			}
			second := assignment(t, data, false, maps.Clone(settings))
			// Not keys of custom_config.
			for _, reported := range []string{"module", "optimizer_config", "train_steps", "eval_steps", "shuffle_buffer"} {
				if settings[reported] == nil {
					t.Errorf("%s is not reported: %v", reported, settings)
				}
				second = without(second, reported)
			}
			second.TrainSteps, second.Seed = new(int(settings["train_steps"].(float64))), 0
			again := settingsOf(t, run(t, name, second))
			if diff := cmp.Diff(settings, again); diff != "" {
				t.Errorf("(-first +second):\n%s", diff)
			}
			if diff := cmp.Diff(files(t, first.ServingModelDir), files(t, second.ServingModelDir)); diff != "" {
				t.Error("the second model differs from the first")
			}
		})
	}
}

// The reported value is the one used, whatever the defaults are.
func TestTheBatchSizeThatIsReportedIsTheOneOfTheSteps(t *testing.T) {
	t.Parallel()
	a := assignment(t, "penguin", false, map[string]any{"label": "species", "epochs": 1})
	a.TrainSteps = nil
	messages := run(t, "dnn", a)
	size := settingsOf(t, messages)["batch_size"].(float64)
	const rows = 234 // in the train split
	if steps := messages[len(messages)-1].Step; steps != int(math.Ceil(rows/size)) {
		t.Errorf("batches of %v, and %d steps for %d rows", size, steps, rows)
	}
}

func TestTheNumbersOfTheOptimizerAreReported(t *testing.T) {
	t.Parallel()
	a := assignment(t, "taxi", false, map[string]any{"label": "tips"})
	a.TrainSteps = new(1)
	settings := settingsOf(t, run(t, "wide_deep", a))
	want := map[string]any{
		"rest":   map[string]any{"name": "adam", "learning_rate": settings["learning_rate"], "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7},
		"linear": map[string]any{"name": "ftrl", "learning_rate": settings["linear_learning_rate"], "initial_accumulator_value": 0.1, "l1_regularization_strength": 0.0, "l2_regularization_strength": 0.0},
	}
	if diff := cmp.Diff(want, settings["optimizer_config"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheMethodThatIsReportedIsThatOfEachNumber(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{"": "zscore", "zscore": "zscore", "minmax": "minmax"} {
		a := assignment(t, "penguin", false, map[string]any{"label": "species"})
		if a.TrainSteps = new(1); given != "" {
			a.CustomConfig["normalize"] = given
		}
		methods, _ := settingsOf(t, run(t, "dnn", a))["normalize"].(map[string]any)
		for feature, method := range methods {
			if method != want {
				t.Errorf("%q: %s is scaled by %v, want %s", given, feature, method, want)
			}
		}
		if len(methods) != 4 {
			t.Errorf("%q: %v", given, methods)
		}
	}
}
