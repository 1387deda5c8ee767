package builtin_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/builtin"
)

func TestBuiltinModulesTuneWithoutASpace(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		data   string
		config map[string]any
		names  []string
		want   tune.Objective
		first  map[string]any
	}{
		"dnn": {
			"penguin", penguin(), []string{"learning_rate", "num_layers", "units", "activation", "dropout"}, tune.Objective{Name: "accuracy", Direction: tune.Max},
			map[string]any{"learning_rate": 0.01, "num_layers": int64(1), "units": int64(8), "activation": "relu", "dropout": 0.0},
		},
		"linear": {
			"penguin", map[string]any{"label": "culmen_depth_mm", "task": "regression", "learning_rate": 5}, []string{"learning_rate", "optimizer"},
			tune.Objective{Name: "rmse", Direction: tune.Min}, map[string]any{"learning_rate": 1.0, "optimizer": "adam"},
		},
		"wide_deep": {
			"taxi", map[string]any{"label": "tips", "hidden_units": []any{30, 20, 10}},
			[]string{"learning_rate", "num_layers", "units", "activation", "dropout", "linear_learning_rate"}, tune.Objective{Name: "auc", Direction: tune.Max},
			map[string]any{"learning_rate": 0.01, "num_layers": int64(3), "units": int64(32), "activation": "relu", "dropout": 0.0, "linear_learning_rate": 0.05},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := assignment(t, test.data, true, test.config)
			config, err := study(t, name, a)
			if err != nil {
				t.Fatal(err)
			}
			if err := config.Check(); err != nil {
				t.Error(err)
			}
			var names []string
			for _, p := range config.Space {
				names = append(names, p.Name)
			}
			first := map[string]any{}
			for _, value := range config.Space.Defaults() {
				first[value.Name] = value.Of
			}
			if diff := cmp.Diff(test.names, names) + cmp.Diff(test.first, first); diff != "" {
				t.Errorf("space and first trial: want - got +\n%s", diff)
			}
			if config.Objectives[0] != test.want || config.Algorithm.Name != tune.Bayesian || config.MaxTrials != 20 || !config.Defaults || config.Seed != 1 {
				t.Errorf("config is %+v", config)
			}
		})
	}
}

func TestASpaceIsReadAsPeopleWriteItAndAsKerasTunerDoes(t *testing.T) {
	t.Parallel()
	want := space.Space{
		{Name: "learning_rate", Kind: space.Float, Min: 1e-4, Max: 1e-1, Sampling: space.Log, Default: 0.001},
		{Name: "units", Kind: space.Int, Min: 8, Max: 128, Step: 8, Sampling: space.Linear, Default: int64(8)},
		{Name: "activation", Kind: space.Choice, Choices: []any{"relu", "tanh"}, Default: "relu"},
		{Name: "batch_size", Kind: space.Choice, Choices: []any{int64(16), int64(32)}, Ordered: true, Default: int64(16)},
		{Name: "embedding_dim", Kind: space.Fixed, Fixed: int64(4)},
	}
	kerasTuner, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	for form, text := range map[string]string{
		"short": `{"units": {"min": 8, "max": 128, "step": 8}, "activation": ["relu", "tanh"], "embedding_dim": 4,
			"learning_rate": {"min": 1e-4, "max": 1e-1, "sampling": "log", "default": 0.001}, "batch_size": [16, 32]}`,
		"KerasTuner's": string(kerasTuner),
	} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			a := withSpace(t, text)
			a.CustomConfig["batch_size"] = 16
			config, err := study(t, "dnn", a)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, config.Space); diff != "" {
				t.Errorf("space: want - got +\n%s", diff)
			}
		})
	}
}

func TestABadSpaceIsRefusedByName(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"unit": {"min": 8, "max": 16}}`:      `builtin:dnn has no hyperparameter "unit": expected some of learning_rate, optimizer, num_layers, units, activation, dropout, l1, l2, batch_size, embedding_dim, seed; did you mean units?`,
		`{"colour": ["red", "blue"]}`:          `builtin:dnn has no hyperparameter "colour": expected some of`,
		`{}`:                                   "is empty: leave it out for one that suits the module",
		`[]`:                                   "is empty: leave it out for one that suits the module",
		`{"units": {"min": 8, "max": 4}}`:      `units: min_value 8 is more than max_value 4`,
		`{"units": {"min": 8, "maximum": 4}}`:  `units: unknown key "maximum": expected some of min, max, step, sampling, default`,
		`{"units": {"min": 8}}`:                "units: expected min and max",
		`{"units": {"min": "8", "max": 16}}`:   "units: expected numbers min and max",
		`{"units": [8.5]}`:                     "units: is a whole number, got 8.5",
		`{"units": {"min": -8, "max": 8}}`:     "units of -8: custom_config: hidden_units: expected 1 to",
		`{"optimizer": ["adam", "adamm"]}`:     "optimizer of adamm: custom_config: optimizer:",
		`{"optimizer": {"min": 1, "max": 2}}`:  `optimizer: is a word: expected a list of some`,
		`{"activation": 7}`:                    "activation: is a word, got 7",
		`{"linear_learning_rate": 0.1}`:        `builtin:dnn has no hyperparameter "linear_learning_rate"`,
		`"all"`:                                `expected an object like {"units"`,
		`[{"class_name": "Int", "config": 7}]`: "space:",
		`{"learning_rate": {"min": 0, "max": 1, "sampling": "log"}}`: "learning_rate: min_value 0: expected a positive number",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			a := withSpace(t, text)
			_, err := study(t, "dnn", a)
			if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "custom_config: space: ") {
				t.Errorf("error is %v, want %s", err, want)
			}
			if err := builtin.CheckConfig("dnn", a.CustomConfig); err == nil {
				t.Error("apply takes it")
			}
		})
	}
}

// A search varies the initial rate of the schedule, also its own, which the first trial uses.
func TestASearchVariesTheInitialRateOfASchedule(t *testing.T) {
	t.Parallel()
	scheduled := func(schedule map[string]any, values map[string]any) module.Assignment {
		a := trial(t, values)
		a.CustomConfig["learning_rate_schedule"] = schedule
		return a
	}
	decay := func(initial float64) map[string]any {
		return map[string]any{"name": "ExponentialDecay", "initial_learning_rate": initial, "decay_steps": 10, "decay_rate": 0.5}
	}
	varied := done(t, run(t, "dnn", scheduled(decay(0.3), map[string]any{"learning_rate": 0.002})))
	if diff := cmp.Diff(done(t, run(t, "dnn", scheduled(decay(0.002), nil))), varied); diff != "" {
		t.Errorf("metrics of a schedule from 0.002 - and of one that was varied +\n%s", diff)
	}
	a := scheduled(decay(0.03), nil)
	a.Trial = nil
	config, err := study(t, "dnn", a)
	if err != nil {
		t.Fatal(err)
	}
	if first := config.Space.Defaults()[0]; first.Name != "learning_rate" || first.Of != 0.03 {
		t.Errorf("the first trial has %s %v", first.Name, first.Of)
	}
}

// A schedule that lists its rates has none to vary.
func TestRatesOfAScheduleThatAreGivenAreNotVaried(t *testing.T) {
	t.Parallel()
	given := map[string]any{"name": "PiecewiseConstantDecay", "boundaries": []any{10}, "values": []any{0.1, 0.01}}
	a := assignment(t, "penguin", true, penguin())
	a.CustomConfig["learning_rate_schedule"] = given
	config, err := study(t, "dnn", a)
	if err != nil {
		t.Fatal(err)
	}
	if first := config.Space[0].Name; first != "num_layers" {
		t.Errorf("%s is varied", first)
	}
	a.CustomConfig["space"] = map[string]any{"learning_rate": map[string]any{"min": 0.1, "max": 0.2}}
	want := "custom_config: space: learning_rate: PiecewiseConstantDecay of learning_rate_schedule gives the rate of every step, so it can't be varied"
	if err := builtin.CheckConfig("dnn", a.CustomConfig); err == nil || err.Error() != want {
		t.Errorf("apply says %v, want %s", err, want)
	}
	wide := map[string]any{"label": "x", "linear_learning_rate_schedule": given, "space": map[string]any{"linear_learning_rate": 0.1}}
	if err := builtin.CheckConfig("wide_deep", wide); err == nil || !strings.Contains(err.Error(), "of linear_learning_rate_schedule gives the rate") {
		t.Errorf("apply says %v", err)
	}
}

func withSpace(t *testing.T, text string) module.Assignment {
	t.Helper()
	a := assignment(t, "penguin", true, penguin())
	a.CustomConfig["hidden_units"] = []any{8}
	var space any
	if err := json.Unmarshal([]byte(text), &space); err != nil {
		t.Fatal(err)
	}
	a.CustomConfig["space"] = space
	return a
}

// study asks a builtin module for its search, as a worker does.
func study(t testing.TB, name string, a module.Assignment) (config tune.Config, err error) {
	t.Helper()
	a.Call, a.ServingModelDir, a.Module.Path = module.CallTune, "", module.BuiltinPrefix+name
	var said bytes.Buffer
	if err := module.Serve(t.Context(), strings.NewReader(line(t, a)), &said, builtin.Module()); err != nil {
		return config, err
	}
	var m module.Message
	if err := json.NewDecoder(&said).Decode(&m); err != nil {
		t.Fatal(err)
	}
	return config, json.Unmarshal(m.Study, &config)
}

func line(t testing.TB, a module.Assignment) string {
	t.Helper()
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

// discard ignores all messages.
type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
