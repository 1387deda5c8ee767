package builtin_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/data/tfrecord"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/builtin"
)

func sorted(names []string) []string {
	slices.Sort(names)
	return names
}

func fail(t *testing.T, name string, a module.Assignment) error {
	t.Helper()
	err := builtin.Run(t.Context(), name, a, func(module.Message) {})
	if err == nil {
		t.Fatal("no error")
	}
	return err
}

func TestBadConfigurationIsNamed(t *testing.T) {
	t.Parallel()
	set := func(key string, value any) func(*module.Assignment) {
		return func(a *module.Assignment) { a.CustomConfig[key] = value }
	}
	tune := func(key string, value any) func(*module.Assignment) {
		return func(a *module.Assignment) {
			a.Hyperparameters = map[string]any{"values": map[string]any{key: value}}
		}
	}
	for name, c := range map[string]struct {
		change func(*module.Assignment)
		want   string
	}{
		"unknown key":        {set("hidden", 8), `custom_config: unknown key "hidden"; did you mean hidden_units?`},
		"wrong type":         {set("batch_size", "many"), `custom_config: batch_size: expected a whole number, got "many"`},
		"one layer, no list": {set("hidden_units", 8), "custom_config: hidden_units: expected a list of whole numbers like [8], got 8"},
		"no rows in a batch": {set("batch_size", 0), "custom_config: batch_size: expected 1 to 65536, got 0"},
		"sequences": {func(a *module.Assignment) { a.PayloadFormat = module.PayloadSequenceExample },
			"the examples are FORMAT_TF_SEQUENCE_EXAMPLE: builtin modules train on tables of tf.Examples only"},
		"no label":           {set("label", ""), "custom_config: label: missing, expected one of body_mass_g_xf, culmen_depth_mm_xf, "},
		"label mistyped":     {set("label", "specie"), `, species_xf; did you mean species?`},
		"label not there":    {set("label", "zzz"), `custom_config: label: the schema has no feature "zzz", expected one of body_mass_g_xf, `},
		"unknown task":       {set("task", "clustering"), `custom_config: task: expected classification, binary or regression, got "clustering"`},
		"unknown optimizer":  {set("optimizer", "lion"), `custom_config: optimizer: unknown optimizer "lion"`},
		"unknown activation": {set("activation", "gelu"), `custom_config: activation: unknown activation "gelu"`},
		"adam mistyped":      {set("optimizer", "adm"), `custom_config: optimizer: unknown optimizer "adm": expected sgd, `},
		"relu mistyped":      {set("activation", "rellu"), `custom_config: activation: unknown activation "rellu": expected relu, tanh, sigmoid, softmax, softplus or linear; did you mean relu?`},
		"no rate":            {set("learning_rate", 0), "custom_config: learning_rate: expected a number above 0, got 0: the model would learn nothing"},
		"negative rate":      {set("learning_rate", -1), "learning rate -1: expected a number above 0, at most 1e+06"},
		"empty layer":        {set("hidden_units", []any{8, 0}), "custom_config: hidden_units: expected 1 to 1048576 units in a layer, got 0"},
		"too few classes":    {set("num_classes", 2), `label "species_xf": bad input: has the value 2, expected 0 to 1`},
		"three are not two":  {set("task", "binary"), `label "species_xf" has 3 classes, task binary expects 2`},
		"tuned to nothing":   {tune("num_layers", -1), "hyperparameters: num_layers -1: expected 0 to 1000"},
		"tuned to a word":    {tune("units", "wide"), `hyperparameters: units: expected a whole number, got "wide"`},
		"when to stop":       {func(a *module.Assignment) { a.TrainSteps = nil }, "neither train_args.num_steps nor custom_config.epochs says when to stop"},
		"transformed alone":  {func(a *module.Assignment) { a.TransformGraphPath = "" }, "transformed examples need their transform graph"},
		"raw without schema": {func(a *module.Assignment) { a.Transformed, a.TransformGraphPath, a.SchemaPath = false, "", "" }, "raw examples need a schema, which is missing: name one in the event"},
		"missing split":      {func(a *module.Assignment) { a.TrainFiles = []string{"/nowhere/Split-train/*"} }, "no file matches /nowhere/Split-train/*"},
		"missing eval split": {func(a *module.Assignment) { a.EvalFiles = []string{"/nowhere/Split-eval/*"} }, "no file matches /nowhere/Split-eval/*"},
		"another base model": {func(a *module.Assignment) { a.BaseModel = "/model" }, "base_model: find weights in /model: stat /model: no such file"},
		"steps without bound": {func(a *module.Assignment) {
			a.CustomConfig = map[string]any{"label": "body_mass_g_xf", "optimizer": "sgd", "learning_rate": 1e6}
		}, "loss is not a finite number"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := assignment(t, "penguin", true, penguin())
			c.change(&a)
			if err := fail(t, "dnn", a); !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, expected %s", err, c.want)
			}
			if _, err := os.Stat(a.ServingModelDir); err == nil {
				t.Error("a failed training left a model")
			}
		})
	}
	linear := assignment(t, "penguin", true, penguin())
	if err := fail(t, "linear", linear); !strings.Contains(err.Error(), "builtin:linear has no hidden layers") {
		t.Errorf("hidden layers of a linear model: %v", err)
	}
	if err := fail(t, "wide", linear); !strings.Contains(err.Error(), "no such module: expected one of dnn, linear, wide_deep") {
		t.Errorf("no such module: %v", err)
	}
}

// bird builds a raw penguin record.
func bird() *example.Builder {
	return new(example.Builder).Float("body_mass_g", 0.3).Float("culmen_depth_mm", 0.5).Float("culmen_length_mm", 0.2).
		Float("flipper_length_mm", 0.1).Int64("species", 1)
}

// withTrain returns an assignment with a train split of the records, after two good ones in a
// separate file.
func withTrain(t *testing.T, records ...[]byte) module.Assignment {
	t.Helper()
	a := assignment(t, "penguin", false, penguin())
	dir := filepath.Join(t.TempDir(), "Split-train")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	a.TrainFiles = []string{filepath.Join(dir, "*")}
	writeRecords(t, filepath.Join(dir, "a"), bird().Build(), bird().Build())
	writeRecords(t, filepath.Join(dir, "b"), records...)
	return a
}

func writeRecords(t *testing.T, path string, records ...[]byte) {
	t.Helper()
	var data bytes.Buffer
	w := tfrecord.NewWriter(&data)
	for _, r := range records {
		if err := w.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestBadDataIsAnInputErrorThatNamesFileRecordAndFeature(t *testing.T) {
	t.Parallel()
	inf := float32(1)
	for range 200 {
		inf *= 2
	}
	for want, record := range map[string][]byte{
		`bad record 300 in Split-train/b: feature "species": `:                                                      bird().Float("species", 1).Build(),
		`bad record 300 in Split-train/b: feature "body_mass_g": value +Inf, expected a finite number`:              bird().Float("body_mass_g", inf).Build(),
		`bad record 300 in Split-train/b: feature "body_mass_g": float value is required`:                           new(example.Builder).Build(),
		`bad record 300 in Split-train/b: feature "culmen_length_mm": `:                                             bird().Float("culmen_length_mm").Build(),
		`label "species": bad input: has values that are no classes`:                                                bird().Int64("species", -1).Build(),
		`label "species": bad input: has values up to 5000: set custom_config num_classes if they are classes, or `: bird().Int64("species", 5000).Build(),
	} {
		records := slices.Repeat([][]byte{bird().Build()}, 300) // more than are surveyed at once
		err := fail(t, "dnn", withTrain(t, append(records, record)...))
		bad, ok := errors.AsType[*module.Error](err)
		if !ok || bad.Kind != module.KindInput || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, expected %s", err, want)
		}
	}
}

func TestAnEmptySplitIsBadInput(t *testing.T) {
	t.Parallel()
	a := withTrain(t)
	if err := os.Truncate(filepath.Join(filepath.Dir(a.TrainFiles[0]), "a"), 0); err != nil {
		t.Fatal(err)
	}
	if err := fail(t, "dnn", a); !strings.Contains(err.Error(), "the train splits hold no record") {
		t.Errorf("error is %v", err)
	}
}

func TestAnEmptyEvalSplitIsBadInput(t *testing.T) {
	t.Parallel()
	a := withTrain(t)
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a.EvalFiles = []string{empty}
	var bad *module.Error
	if err := fail(t, "dnn", a); !errors.As(err, &bad) || bad.Kind != module.KindInput {
		t.Errorf("error is %v", err)
	}
}

func TestAConfigurationIsCheckedWithoutData(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		name   string
		config map[string]any
	}{
		"":                                  {"builtin:dnn", map[string]any{"label": "x", "hidden_units": []any{8.0}, "checkpoint_seconds": 2.5}},
		"custom_config: label: missing":     {"dnn", nil},
		`custom_config: unknown key "labl"`: {"dnn", map[string]any{"labl": "x"}},
		"custom_config: batch_size: expected a whole number":              {"linear", map[string]any{"label": "x", "batch_size": "many"}},
		"custom_config: checkpoint_seconds: expected 0 to 604800, got -1": {"dnn", map[string]any{"label": "x", "checkpoint_seconds": -1}},
		"custom_config: hidden_units: builtin:linear has no":              {"linear", map[string]any{"label": "x", "hidden_units": []any{8}}},
		"no such module: expected one of dnn, linear, wide_deep":          {"builtin:cnn", map[string]any{"label": "x"}},
	} {
		err := builtin.CheckConfig(c.name, c.config)
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s %v: %v, want %q", c.name, c.config, err, want)
		}
	}
}
