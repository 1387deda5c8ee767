package runner_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// dumps is a module that writes down what it is given, as Python has it: 1.0 is no 1, None no empty list. There it fails.
const dumps = `
import json, os

def run_fn(fn_args):
    told = {name: repr(value) for name, value in vars(fn_args).items() if name != "data_accessor"}
    data = fn_args.data_accessor
    told["data_accessor"] = repr([callable(data.tf_dataset_factory), callable(data.record_batch_factory), data.data_view_decode_fn])
    folders = fn_args.working_dir, fn_args.model_run_dir, fn_args.serving_model_dir
    told["there"] = repr([bool(d) and os.path.exists(d) for d in folders])
    with open(os.path.join(fn_args.working_dir, "told.json"), "w") as file:
        json.dump(told, file)
    raise SystemExit(7)

tuner_fn = run_fn
`

// fnArgs are the fields of FnArgs, in Python's words, for the assignment of fullAssignment: facts of TFX 1.16, and
// num_examples of its newest. base_models is the older name of base_model.
func fnArgs(call module.Call, root string) map[string]string {
	at := func(path string) string { return "'" + filepath.Join(root, path) + "'" }
	all := map[string]string{
		"working_dir": at("working"), "train_files": "[" + at("Split-train/*") + ", " + at("more/Split-train/*") + "]",
		"eval_files":  "[" + at("Split-eval/*") + "]",
		"train_steps": "100", "eval_steps": "None", "schema_path": at("schema.pbtxt"), "transform_graph_path": at("graph"),
		"data_accessor": "[True, True, None]", "base_model": at("base"), "custom_config": "{'epochs': 3, 'rate': 1.0}",
		"schema_file": "None", "transform_output": "None", "serving_model_dir": "None", "eval_model_dir": "None", "model_run_dir": "None",
		"hyperparameters": "None", "there": "[True, False, False]",
	}
	if call == module.CallTrain {
		maps.Copy(all, map[string]string{
			"schema_file": at("schema.pbtxt"), "transform_output": at("graph"), "serving_model_dir": at("model/Format-Serving"),
			"eval_model_dir": at("model/Format-TFMA"), "model_run_dir": at("model_run"),
			"hyperparameters": "{'space': [], 'values': {'rate': 1.0, 'units': 8}}",
			"num_examples":    "{'eval': 100, 'train': 234}", "base_models": "[" + at("base") + "]", "there": "[True, True, False]",
		})
	}
	return all
}

// fullAssignment has everything that there is in one.
func fullAssignment(root, path string, call module.Call) module.Assignment {
	at := func(path string) string { return filepath.Join(root, path) }
	return module.Assignment{
		Version: module.ProtocolVersion, Module: module.Source{Path: path}, Call: call, WorkingDir: at("working"),
		TrainFiles: []string{at("Split-train/*"), at("more/Split-train/*")}, EvalFiles: []string{at("Split-eval/*")},
		TrainSteps: new(100), EvalSteps: new(0),
		SchemaPath: at("schema.pbtxt"), TransformGraphPath: at("graph"), ServingModelDir: at("model/Format-Serving"),
		EvalModelDir: at("model/Format-TFMA"), ModelRunDir: at("model_run"), BaseModel: at("base"),
		Hyperparameters:        map[string]any{"space": []any{}, "values": map[string]any{"rate": json.Number("1.0"), "units": 8}},
		CustomConfig:           map[string]any{"epochs": json.Number("3"), "rate": json.Number("1.0")},
		NumExamples:            map[string]int64{"train": 234, "eval": 100},
		BestHyperparametersDir: at("best"), TunerResultsDir: at("results"),
	}
}

func TestFnArgsAreThoseOfTFXFieldByField(t *testing.T) {
	t.Parallel()
	host := pythonRunner(t)
	for _, call := range []module.Call{module.CallTrain, module.CallTune} {
		t.Run(string(call), func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			got := dumpFnArgs(t, host, fullAssignment(root, dumping(t), call))
			compareFields(t, got, fnArgs(call, root))
		})
	}
}

// What a job doesn't have is None to TFX, but for files.
func TestFnArgsThatAJobDoesNotHaveAreNone(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	a := module.Assignment{
		Version: module.ProtocolVersion, Module: module.Source{Path: dumping(t)}, Call: module.CallTrain,
		WorkingDir: filepath.Join(root, "working"),
		TrainFiles: []string{filepath.Join(root, "*")}, ServingModelDir: filepath.Join(root, "model", "Format-Serving"),
	}
	want := map[string]string{
		"working_dir": "'" + a.WorkingDir + "'", "train_files": "['" + a.TrainFiles[0] + "']", "eval_files": "[]",
		"serving_model_dir": "'" + a.ServingModelDir + "'", "data_accessor": "[True, True, None]", "there": "[True, False, False]",
	}
	for name := range fnArgs(module.CallTrain, root) {
		if _, ok := want[name]; !ok && name != "num_examples" { // which is no field of FnArgs, and there with statistics alone
			want[name] = "None"
		}
	}
	compareFields(t, dumpFnArgs(t, pythonRunner(t), a), want)
}

func dumping(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"dumps.py": dumps})
	return filepath.Join(dir, "dumps.py")
}

// dumpFnArgs runs the module that writes its FnArgs down.
func dumpFnArgs(t *testing.T, host *runner.Runner, a module.Assignment) (fields map[string]string) {
	t.Helper()
	_, runErr := host.Run(t.Context(), a, runner.Limits{}, nil)
	text, err := os.ReadFile(filepath.Join(a.WorkingDir, "told.json"))
	if err != nil {
		t.Fatal(err, runErr, asError(t, runErr).LogTail)
	}
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

func compareFields(t *testing.T, got, want map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			t.Errorf("%s: got %s, want %s", name, got[name], want[name])
		}
	}
	for name, value := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: got %s, which TFX has not", name, value)
		}
	}
}
