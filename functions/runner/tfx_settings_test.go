package runner_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// changesItsArguments writes down its arguments, and then changes them.
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
	r := pythonRunner(t)
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
			outcome, err := r.Run(t.Context(), a, runner.Limits{}, nil)
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

// Settings that a process reports in another form than an object are logged.
func TestSettingsThatAreNoObjectAreNone(t *testing.T) {
	t.Parallel()
	r := newRunner(t, 0)
	outcome, err := r.Run(t.Context(), assignment(t, "settings"), runner.Limits{}, nil)
	if err != nil || string(outcome.Settings) != `{"units":8}` || !strings.Contains(outcome.LogTail, `on the progress descriptor: "{\"type\":\"settings\",\"settings\":[1]}`) {
		t.Errorf("%s, %v, log %s", outcome.Settings, err, outcome.LogTail)
	}
}

// A training that draws weights, dropout, the order of its data and numbers of Python and NumPy,
// without setting a seed.
const drawsAtRandom = `
import random
import numpy as np
import tensorflow as tf

def run_fn(fn_args):
    print("drawn", random.random(), np.random.rand(), tf.random.uniform([]).numpy())
    rows = np.random.rand(200, 6).astype(np.float32)
    data = tf.data.Dataset.from_tensor_slices((rows, rows.sum(axis=1, keepdims=True))).shuffle(200)
    data = data.map(lambda x, y: (x + tf.random.normal(tf.shape(x), stddev=0.01), y), num_parallel_calls=4).batch(16)
    model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dropout(0.3), tf.keras.layers.Dense(1)])
    model.compile("adam", "mse")
    model.fit(data, epochs=3, verbose=0)
    tf.saved_model.save(model, fn_args.serving_model_dir,
        signatures=tf.function(lambda x: {"y": model(x)}).get_concrete_function(tf.TensorSpec([None, 6], tf.float32)))
`

func TestATFXModuleGivesTheSameBitsEachTimeWhereItIsAskedTo(t *testing.T) {
	t.Parallel()
	r, err := runner.New(runner.Options{Python: tftest.Python(t), CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	train := func(seed int64, deterministic bool, keras string) (weights, log string) {
		t.Helper()
		a := pythonAssignment(t, drawsAtRandom)
		a.Seed, a.Deterministic, a.Module.Keras = seed, deterministic, keras
		limits := runner.Limits{LogPath: filepath.Join(t.TempDir(), "log")}
		outcome, err := r.Run(t.Context(), a, limits, nil)
		if err != nil {
			t.Fatal(err, asError(t, err).LogTail)
		}
		if outcome.Device != module.DeviceCPU {
			t.Errorf("trained on %q, want a CPU", outcome.Device)
		}
		var settings struct {
			Seed          int64 `json:"seed"`
			Deterministic bool  `json:"deterministic"`
		}
		if err := json.Unmarshal(outcome.Settings, &settings); err != nil || settings.Seed != seed&0xffffffff || settings.Deterministic != deterministic {
			t.Errorf("trained with %s, %v; want seed %d, deterministic %v", outcome.Settings, err, seed&0xffffffff, deterministic)
		}
		text, err := os.ReadFile(limits.LogPath)
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(a.ServingModelDir, "variables", "variables.data-00000-of-00001"))
		if err != nil {
			t.Fatal(err)
		}
		return string(data), string(text)
	}
	for _, keras := range []string{module.Keras3, module.Keras2} {
		first, log := train(7, true, keras)
		if second, _ := train(7, true, keras); first != second {
			t.Errorf("Keras %s: two trainings of one seed have other weights: %s", keras, log)
		}
		if strings.Contains(log, "may differ") {
			t.Errorf("Keras %s: the log says that bits may differ: %s", keras, log)
		}
	}
	first, _ := train(7, true, module.Keras3)
	if other, _ := train(-8, true, module.Keras3); first == other {
		t.Error("two seeds give the same weights")
	}
	_, log := train(7, false, module.Keras3)
	if !strings.Contains(log, "without trainer.deterministic: another training of the same may differ in") {
		t.Errorf("the log does not say what may differ: %s", log)
	}
	_, again := train(7, false, module.Keras3)
	if drawnOf(log) != drawnOf(again) || drawnOf(log) == "" {
		t.Errorf("drawn %q, then %q of the same seed", drawnOf(log), drawnOf(again))
	}
}

// drawnOf returns the log line with what was drawn.
func drawnOf(log string) string {
	for line := range strings.Lines(log) {
		if strings.HasPrefix(line, "drawn ") {
			return line
		}
	}
	return ""
}

// Skipping AutoGraph changes no bit of the served model, with either Keras, and the module's own
// code is converted as before: it would not run otherwise.
func TestAModelWhoseExportIsSparedServesTheSame(t *testing.T) {
	t.Parallel()
	r := pythonRunner(t)
	for keras, name := range map[string]string{module.Keras2: "tf_keras", module.Keras3: "keras"} {
		t.Run("Keras "+keras, func(t *testing.T) {
			t.Parallel()
			spared, few := transformed(t, r, name, module.Source{Keras: keras})
			all, many := transformed(t, r, name, module.Source{Keras: keras, Autograph: module.AutographAll})
			if len(all) < 1000 || !bytes.Equal(spared, all) {
				t.Errorf("transformed features of %d bytes differ from those of %d", len(spared), len(all))
			}
			if few < 1 || many < 3*few {
				t.Errorf("AutoGraph converted %d functions, and %d without being spared", few, many)
			}
		})
	}
}

// transformed returns the features that the model's signature makes of the raw evaluation records,
// and how many functions AutoGraph converted for it.
func transformed(t *testing.T, r *runner.Runner, keras string, source module.Source) (values []byte, converted int) {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", "spared", "penguin.py"))
	if err != nil {
		t.Fatal(err)
	}
	source.Path = path
	a := penguinAssignment(t, source)
	outcome, err := r.Run(t.Context(), a, runner.Limits{}, nil)
	if err != nil {
		t.Fatal(err, asError(t, err).LogTail)
	}
	last := outcome.LogTail[max(0, strings.LastIndex(outcome.LogTail, "converted ")):]
	if n, _ := fmt.Sscanf(last, "converted %d functions with "+keras+"\n", &converted); n != 1 {
		t.Errorf("log: %s", outcome.LogTail)
	}
	if values, err = os.ReadFile(filepath.Join(a.ModelRunDir, "transformed.npz")); err != nil {
		t.Fatal(err)
	}
	return values, converted
}

// penguinAssignment returns an assignment that trains on the demo's penguins.
func penguinAssignment(t *testing.T, source module.Source) module.Assignment {
	t.Helper()
	data, err := filepath.Abs("../../local/demo/data")
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	return module.Assignment{
		Version: module.ProtocolVersion, Module: source, Call: module.CallTrain, Transformed: true, TrainSteps: new(3), EvalSteps: new(1),
		TrainFiles:         []string{filepath.Join(data, "transformed_examples", "Split-train", "*")},
		EvalFiles:          []string{filepath.Join(data, "transformed_examples", "Split-eval", "*")},
		TransformGraphPath: filepath.Join(data, "transform_graph"),
		SchemaPath:         filepath.Join(data, "transform_graph", "transformed_metadata", "schema.pbtxt"),
		WorkingDir:         filepath.Join(out, "working"), ModelRunDir: filepath.Join(out, "model_run"),
		ServingModelDir: filepath.Join(out, "model", "Format-Serving"), EvalModelDir: filepath.Join(out, "model", "Format-TFMA"),
		CustomConfig: map[string]any{"raw": filepath.Join(data, "examples", "Split-eval", "*")},
	}
}

// loops is a TFX module with a custom training loop.
const loops = `
import os, time
import stoker

def run_fn(fn_args):
    step = 0
    while not stoker.stopping():
        step += 1
        stoker.report(step, {"loss": 1 / step})
        time.sleep(0.01)
    with open(os.path.join(fn_args.model_run_dir, "state"), "w") as file:
        file.write(str(step))
`

func TestATFXModuleThatIsAskedToLeaveKeepsWhatItHas(t *testing.T) {
	t.Parallel()
	r, err := runner.New(runner.Options{Python: tftest.Python(t), CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	a := pythonAssignment(t, loops)
	a.Module.Keras = module.Keras3
	ctx, cancel := context.WithCancelCause(t.Context())
	preempted := errors.New("preempted")
	var kept module.Message
	outcome, err := r.Run(ctx, a, runner.Limits{}, func(m module.Message) {
		cancel(preempted)
		if m.Type == module.MessageCheckpoint {
			kept = m
		}
	})
	if failed := asError(t, err); failed.Kind != runner.KindStopped || !errors.Is(err, preempted) {
		t.Errorf("%s: %v\n%s", failed.Kind, err, outcome.LogTail)
	}
	state, err := os.ReadFile(filepath.Join(a.ModelRunDir, "state"))
	if err != nil || kept.Step == 0 || !kept.All {
		t.Errorf("checkpoint %+v, state %q, %v\n%s", kept, state, err, outcome.LogTail)
	}
}

// TestTheRunFnOfTFXsGuideServesRawRows runs a module in the shape that TFX's guide to the Trainer
// shows. It saves in a way that only Keras 2 supports, which no setting says.
func TestTheRunFnOfTFXsGuideServesRawRows(t *testing.T) {
	t.Parallel()
	r, err := runner.New(runner.Options{Python: tftest.Python(t), CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	data, err := filepath.Abs("../../local/examples/taxi/data")
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	a := module.Assignment{
		Version: module.ProtocolVersion, Call: module.CallTrain, Transformed: true, TrainSteps: new(150), EvalSteps: new(20),
		Module:             module.Source{Path: documented(t)},
		TrainFiles:         []string{filepath.Join(data, "transformed_examples", "Split-train", "*")},
		EvalFiles:          []string{filepath.Join(data, "transformed_examples", "Split-eval", "*")},
		TransformGraphPath: filepath.Join(data, "transform_graph"), WorkingDir: t.TempDir(), ModelRunDir: t.TempDir(),
		SchemaPath:      filepath.Join(data, "transform_graph", "transformed_metadata", "schema.pbtxt"),
		ServingModelDir: filepath.Join(out, "Format-Serving"), EvalModelDir: filepath.Join(out, "Format-TFMA"),
	}
	outcome, err := r.Run(t.Context(), a, runner.Limits{}, nil)
	if err != nil {
		t.Fatal(err, outcome.LogTail)
	}
	var tips struct{ Card, Cash float64 }
	tftest.Run(t, askForTips, map[string]string{"model": a.ServingModelDir}, &tips)
	if tips.Card < 0.2 || tips.Cash > 0.1 || tips.Card < 5*tips.Cash {
		t.Errorf("a long ride paid by card is tipped well with probability %.3f, one paid in cash with %.3f: cash tips are not recorded", tips.Card, tips.Cash)
	}
}

// askForTips serves raw rows as TensorFlow Serving would.
const askForTips = `
def row(payment):
    feature = tf.train.Feature
    floats = lambda v: feature(float_list=tf.train.FloatList(value=[v]))
    ints = lambda v: feature(int64_list=tf.train.Int64List(value=[v]))
    words = lambda v: feature(bytes_list=tf.train.BytesList(value=[v]))
    return tf.train.Example(features=tf.train.Features(feature={
        "fare": floats(20.0), "trip_miles": floats(6.0), "trip_seconds": ints(1200), "payment_type": words(payment), "company": words(b"Taxi"),
        "trip_start_hour": ints(12), "trip_start_day": ints(3), "trip_start_month": ints(5), "trip_start_timestamp": ints(1400000000),
        "pickup_latitude": floats(41.9), "pickup_longitude": floats(-87.6), "dropoff_latitude": floats(41.9), "dropoff_longitude": floats(-87.6),
        "pickup_community_area": ints(8), "dropoff_community_area": ints(8),
    })).SerializeToString()

def check(input):
    serve = tf.saved_model.load(input["model"]).signatures["serving_default"]
    card, cash = serve(examples=tf.constant([row(b"Credit Card"), row(b"Cash")]))["outputs"].numpy()[:, 0]
    return {"Card": float(card), "Cash": float(cash)}
`

func documented(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("testdata/documented/taxi_run_fn.py")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// searches is a TFX module whose search keeps its trials below working_dir. Its process is killed
// in the fourth trial, if it has begun with the first one.
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

func TestASearchResumesTheTrialInWhichItWasKilled(t *testing.T) {
	t.Parallel()
	r, err := runner.New(runner.Options{Python: tftest.Python(t), CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	a := pythonAssignment(t, searches)
	out := t.TempDir()
	a.Call, a.ServingModelDir, a.ModelRunDir, a.Module.Keras = module.CallTune, "", "", module.Keras3
	a.BestHyperparametersDir, a.TunerResultsDir = filepath.Join(out, "best"), filepath.Join(out, "results")

	kept := t.TempDir() // a directory for each checkpoint, as a worker keeps them
	taken, newest := 0, ""
	outcome, err := r.Run(t.Context(), a, runner.Limits{}, func(m module.Message) {
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
	outcome, err = r.Run(t.Context(), a, runner.Limits{}, func(m module.Message) { phases = append(phases, m.Phase) })
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

// needsKeras2 is a module whose source does not say what it needs. It fails as with Keras 3, after
// all its output.
const needsKeras2 = `
import os

def run_fn(fn_args):
    legacy = os.environ["TF_USE_LEGACY_KERAS"]
    folders = [fn_args.working_dir, fn_args.model_run_dir, fn_args.serving_model_dir, fn_args.eval_model_dir]
    print("legacy", legacy, "finds", [sorted(n for n in os.listdir(f) if n[0] != ".") for f in folders if os.path.exists(f)])
    for folder in folders:
        os.makedirs(folder, exist_ok=True)
        open(os.path.join(folder, "by-" + legacy), "w").close()
    if legacy == "0":
        try:
            raise ValueError("The ` + "`save_format`" + ` argument is deprecated in Keras 3. Please remove this argument and pass a file path.")
        except ValueError as error:
            raise RuntimeError("can't export") from error
`

func TestTheOtherKerasIsTriedOnceAndRemembered(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	first, a := kerasRunner(t, cache), kerasAssignment(t, needsKeras2)
	var heard []module.Message
	outcome, err := first.Run(t.Context(), a, runner.Limits{}, func(m module.Message) { heard = append(heard, m) })
	if err != nil {
		t.Fatal(err, asError(t, err).LogTail)
	}
	for _, line := range []string{
		"stoker: Keras 3.15.1: nothing in the module asks for Keras 2\nlegacy 0 finds [[], []]\n",
		"stoker: the module needs Keras 2 and starts again with it",
		"stoker: Keras 2.21.0: found by trying the other one\nlegacy 1 finds [[], []]\n",
	} {
		if !strings.Contains(outcome.LogTail, line) {
			t.Errorf("the log lacks %q:\n%s", line, outcome.LogTail)
		}
	}
	for _, folder := range []string{a.WorkingDir, a.ModelRunDir, a.ServingModelDir, a.EvalModelDir} {
		if names := visible(t, folder); !slices.Equal(names, []string{"by-1"}) {
			t.Errorf("%s holds %v", filepath.Base(folder), names)
		}
	}
	if !slices.ContainsFunc(heard, func(m module.Message) bool { return m.Type == module.MessageCheckpoint && m.All }) {
		t.Errorf("the checkpoint of the first try still stands; heard %v", heard)
	}
	wantKeras2AtOnce(t, "the same host", first, kerasAssignment(t, needsKeras2))
	wantKeras2AtOnce(t, "another host with the cache", kerasRunner(t, cache), kerasAssignment(t, needsKeras2))
	wantKeras2AtOnce(t, "another machine, with the checkpoint", kerasRunner(t, t.TempDir()), a)
}

// wantKeras2AtOnce runs a module that needs Keras 2, and checks that Keras 3 is not tried before.
func wantKeras2AtOnce(t *testing.T, where string, r *runner.Runner, a module.Assignment) {
	t.Helper()
	outcome, err := r.Run(t.Context(), a, runner.Limits{}, nil)
	if err != nil || strings.Contains(outcome.LogTail, "legacy 0") || !strings.Contains(outcome.LogTail, "found by trying") {
		t.Errorf("%s: %v\n%s", where, err, outcome.LogTail)
	}
}

func TestAKerasThatFailsIsReportedWithTheOneToSet(t *testing.T) {
	t.Parallel()
	r := kerasRunner(t, t.TempDir())
	const search = "to return a valid Keras Model instance. Received: <tf_keras.src.engine.functional.Functional object>"
	neither := strings.Replace(needsKeras2, "    for folder", "    if legacy == '1':\n        raise TypeError('"+search+"')\n    for folder", 1)
	for name, c := range map[string]struct {
		text, keras string
		says        []string
	}{
		"3 was chosen":  {needsKeras2, "3", []string{"RuntimeError: can't export (needs Keras 2: set module.keras: 2)"}},
		"2 was chosen":  {neither, "2", []string{"TypeError: to return a valid", "(needs Keras 3: set module.keras: 3)"}},
		"neither works": {neither, "", []string{"TypeError: to return a valid", "; and with the other Keras before: ", "RuntimeError: can't export"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := kerasAssignment(t, c.text)
			a.Module.Keras = c.keras
			_, err := r.Run(t.Context(), a, runner.Limits{}, nil)
			if err == nil || asError(t, err).Kind != runner.KindModule {
				t.Fatal(err)
			}
			for _, part := range c.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("got %v\nwant %q in it", err, part)
				}
			}
		})
	}
}

// The source says what a module needs, so that nothing has to be tried: the source of the called
// function, and of what it imports.
func TestTheSourceSaysWhichKerasIsNeeded(t *testing.T) {
	t.Parallel()
	r := kerasRunner(t, t.TempDir())
	const saves = "def save(model):\n    model.save('x', save_format='tf')\n"
	const runs = "\ndef run_fn(fn_args):\n    print('runs')\n"
	for name, c := range map[string]struct {
		files map[string]string
		path  string
		says  string
	}{
		"nothing":          {map[string]string{"m.py": runs}, "m.py", "Keras 3.15.1: nothing in the module asks for Keras 2"},
		"saves as Keras 2": {map[string]string{"m.py": saves + runs}, "m.py", "Keras 2.21.0: save(save_format=...) (m.py:2)"},
		"a sibling does": {map[string]string{"m.py": "from helpers import save" + runs, "helpers.py": saves}, "m.py",
			"Keras 2.21.0: save(save_format=...) (helpers.py:2)"},
		"another's sibling": {map[string]string{"m.py": runs, "helpers.py": saves}, "m.py", "Keras 3.15.1: nothing"},
		"in a package": {map[string]string{"m.py": "import lib.deep" + runs, "lib/__init__.py": "", "lib/deep.py": saves}, "",
			"Keras 2.21.0: save(save_format=...) (lib/deep.py:2)"},
		"uses tf_keras itself": {map[string]string{"m.py": "if False:\n    import tf_keras\n" + runs}, "m.py", "Keras 2.21.0: it imports tf_keras (m.py:2)"},
		"only reads of it":     {map[string]string{"m.py": "'''model.save(save_format=1)'''" + runs}, "m.py", "Keras 3.15.1: nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			writeFiles(t, dir, c.files)
			a := kerasAssignment(t, "")
			a.Module = module.Source{Path: filepath.Join(dir, c.path)}
			outcome, err := r.Run(t.Context(), a, runner.Limits{}, nil)
			if err != nil || !strings.HasPrefix(outcome.LogTail, "stoker: "+c.says) {
				t.Errorf("%v\n%s\nwant %s", err, outcome.LogTail, c.says)
			}
		})
	}
}

// KerasTuner accepts only Keras 3's models, even if the module's run_fn saves as Keras 2 does.
func TestASearchByKerasTunerNeedsKeras3(t *testing.T) {
	t.Parallel()
	a := kerasAssignment(t, "if False:\n    import keras_tuner\n    m.save(save_format='tf')\ndef tuner_fn(fn_args):\n    raise SystemExit(9)\n")
	a.Call, a.BestHyperparametersDir, a.TunerResultsDir = module.CallTune, t.TempDir(), t.TempDir()
	_, err := kerasRunner(t, t.TempDir()).Run(t.Context(), a, runner.Limits{}, nil)
	if tail := asError(t, err).LogTail; !strings.HasPrefix(tail, "stoker: Keras 3.15.1: it imports keras_tuner (user_module.py:2)\n") {
		t.Error(tail)
	}
}

func kerasRunner(t *testing.T, cache string) *runner.Runner {
	t.Helper()
	r, err := runner.New(runner.Options{Python: tftest.Python(t), CacheDir: cache})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func kerasAssignment(t *testing.T, text string) module.Assignment {
	t.Helper()
	a := pythonAssignment(t, text)
	a.EvalModelDir = filepath.Join(filepath.Dir(a.ServingModelDir), "Format-TFMA")
	return a
}

// visible returns the names of the files in a directory except for hidden ones.
func visible(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), ".") {
			names = append(names, entry.Name())
		}
	}
	return names
}

// The messages by which the driver detects that the other Keras is needed are those of the present
// Keras 3 and KerasTuner.
func TestKerasSaysWhatTheDriverListensFor(t *testing.T) {
	t.Parallel()
	driver, err := filepath.Abs(filepath.Join("python", "driver"))
	if err != nil {
		t.Fatal(err)
	}
	var needed map[string]string
	tftest.Run(t, provokesKeras, map[string]string{"driver": driver, "dir": t.TempDir()}, &needed)
	want := map[string]string{
		"save_format": "2", "a folder": "2", "load a folder": "2", "a legacy optimizer": "2", "a search with Keras 2": "3", "another error": "",
	}
	for name, keras := range want {
		if needed[name] != keras {
			t.Errorf("%s: needs %q, want %q", name, needed[name], keras)
		}
	}
}

const provokesKeras = `
import os, sys

def small(keras):
    return keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])

def search(dir):
    import keras_tuner, tf_keras
    keras_tuner.RandomSearch(lambda hp: small(tf_keras), objective="loss", max_trials=1, directory=dir).search(np.zeros((1, 1)), np.zeros(1))

def check(input):
    sys.path.insert(0, input["driver"])
    from stoker_runner import keras_choice
    import keras
    dir = input["dir"]
    tf.saved_model.save(tf.Module(), os.path.join(dir, "saved"))
    provoked = {
        "save_format": lambda: small(keras).save(os.path.join(dir, "a"), save_format="tf"),
        "a folder": lambda: small(keras).save(os.path.join(dir, "b")),
        "load a folder": lambda: keras.models.load_model(os.path.join(dir, "saved")),
        "a legacy optimizer": lambda: keras.optimizers.legacy.Adam(),
        "a search with Keras 2": lambda: search(dir),
        "another error": lambda: small(keras).compile("no optimizer"),
    }
    needed = {}
    for name, do in provoked.items():
        try:
            do()
        except Exception as error:
            needed[name] = keras_choice.needed([str(error)])
    return needed
`
