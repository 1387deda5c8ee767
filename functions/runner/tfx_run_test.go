package runner_test

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// multiplies is a TFX module that leaves a model with one weight.
const multiplies = `
import tensorflow as tf

def run_fn(fn_args):
    print("training for", fn_args.train_steps)
    model = tf.Module()
    model.weight = tf.Variable(2.0)
    model.serve = tf.function(lambda x: x * model.weight, input_signature=[tf.TensorSpec([None], tf.float32)])
    tf.saved_model.save(model, fn_args.serving_model_dir, signatures={"serving_default": model.serve})
`

func TestATFXModuleRunsToItsModel(t *testing.T) {
	t.Parallel()
	r, err := runner.New(runner.Options{Python: tftest.Python(t), CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	a := pythonAssignment(t, multiplies)
	outcome, err := r.Run(t.Context(), a, runner.Limits{}, nil)
	if err != nil {
		t.Fatal(err, outcome.LogTail)
	}
	if _, err := os.Stat(filepath.Join(a.ServingModelDir, "saved_model.pb")); err != nil {
		t.Error(err)
	}
	version := regexp.MustCompile(`^[0-9]+[.][0-9]+`)
	for name, found := range map[string]string{"Python": outcome.Platform.Python, "TensorFlow": outcome.Platform.TensorFlow, "Keras": outcome.Platform.Keras} {
		if !version.MatchString(found) {
			t.Errorf("%s has version %q", name, found)
		}
	}
}

// pythonAssignment returns an assignment that trains with the text of a module file.
func pythonAssignment(t *testing.T, text string) module.Assignment {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "user_module.py")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return module.Assignment{
		Version: module.ProtocolVersion, Module: module.Source{Path: path}, Call: module.CallTrain, TrainSteps: new(3),
		TrainFiles: []string{filepath.Join(dir, "Split-train", "*")}, WorkingDir: t.TempDir(),
		ServingModelDir: filepath.Join(dir, "model", "Format-Serving"), ModelRunDir: t.TempDir(),
	}
}

// A file next to the module may have the name of a module that a warm process has imported: it is
// imported as in a cold process.
func TestAModulesOwnFilesComeFirstHoweverItIsStarted(t *testing.T) {
	t.Parallel()
	for _, way := range runner.Warmth() {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			r := runnerOf(t, runner.Options{Warm: 1, PythonWarm: way, Env: []string{"STOKER_PRELOAD=colorsys,wsgiref.util"}})
			a := pythonAssignment(t, `
def run_fn(fn_args):
    import colorsys, wsgiref.util, wsgiref.headers
    assert colorsys.mine and wsgiref.util.guess_scheme, colorsys.__file__
    assert len(colorsys.rgb) == 3
`)
			dir := filepath.Dir(a.Module.Path)
			for name, text := range map[string]string{
				"colorsys.py": "mine = True\nimport colours\nrgb = colours.three\n", "colours.py": "three = 'rgb'\n",
			} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			// Not a package: it hides nothing.
			if err := os.Mkdir(filepath.Join(dir, "wsgiref"), 0o755); err != nil {
				t.Fatal(err)
			}
			if outcome, err := r.Run(t.Context(), a, runner.Limits{}, nil); err != nil {
				t.Error(err, outcome.LogTail)
			}
		})
	}
}

// The real tfx_bsl reads the examples, 234 of them in batches of 100. An error after that is the
// data's fault, and names its file.
func TestExamplesAreReadAsTFXReadsThem(t *testing.T) {
	t.Parallel()
	path, err := filepath.Abs(filepath.Join("testdata", "read_examples.py"))
	if err != nil {
		t.Fatal(err)
	}
	a := penguinAssignment(t, module.Source{Path: path})
	broken := filepath.Join(t.TempDir(), "broken-00000")
	if err := os.WriteFile(broken, []byte("these are no records, and far too many bytes for a length"), 0o600); err != nil {
		t.Fatal(err)
	}
	a.EvalFiles = append(a.EvalFiles, broken)
	a.CustomConfig = map[string]any{"broken": broken}

	_, runErr := pythonRunner(t).Run(t.Context(), a, runner.Limits{}, nil)
	if runErr == nil || asError(t, runErr).Kind != runner.KindInput || !strings.Contains(runErr.Error(), "(broken file: "+broken+")") {
		t.Errorf("the broken file is reported as %v", runErr)
	}
	text, err := os.ReadFile(filepath.Join(a.ModelRunDir, "met.json"))
	if err != nil {
		t.Fatal(err, asError(t, runErr).LogTail)
	}
	var met map[string]any
	if err := json.Unmarshal(text, &met); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"dataset": []any{100.0, 100.0, 34.0}, "record_batches": []any{[]any{100.0, true}, []any{100.0, true}, []any{34.0, true}},
		// The batches, their records, the steps, the values.
		"sequences": []any{[]any{[]any{[]any{1.0}, []any{2.0}, []any{3.0}}}},
		"no_schema": "Unable to create a parsing config because no schema is provided.",
	}
	if !reflect.DeepEqual(met, want) {
		t.Errorf("met %v\nwant %v", met, want)
	}
}

// A module may change between the digest that identifies a job and its run: the outcome names what
// ran.
func TestTheDigestIsThatOfWhatRan(t *testing.T) {
	t.Parallel()
	r, err := runner.New(runner.Options{Python: tftest.Python(t), CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	a := pythonAssignment(t, "def run_fn(fn_args):\n    pass\n")
	digest := func(source module.Source) string {
		t.Helper()
		d, err := r.Digest(t.Context(), source)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	before := digest(a.Module)
	outcome, err := r.Run(t.Context(), a, runner.Limits{}, nil)
	if err != nil || outcome.Module != before {
		t.Errorf("ran %s, %v, want %s", outcome.Module, err, before)
	}
	if err := os.WriteFile(a.Module.Path, []byte("def run_fn(fn_args):\n    print()\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	outcome, err = r.Run(t.Context(), a, runner.Limits{}, nil)
	if err != nil || outcome.Module == before || outcome.Module != digest(a.Module) {
		t.Errorf("ran %s, %v, which was %s", outcome.Module, err, before)
	}

	plain, users, all := a.Module, a.Module, a.Module
	users.Autograph, all.Autograph = module.AutographUser, module.AutographAll
	if digest(plain) != digest(users) || digest(plain) == digest(all) {
		t.Error("how AutoGraph converts is part of what is run where it is set")
	}
}

func TestAFullDiskIsNoFaultOfAPipelines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "bin", "python")
	answer := fmt.Sprintf(`{"interpreter": %q, "version": "3.11.7", "packages": {"tensorflow": "2.21.0"}, "modules": ["tensorflow"], "sites": []}`, path)
	script := fmt.Sprintf("#!/bin/sh\n[ \"$2\" = -c ] && echo '%s' && exit\necho 'OSError: [Errno 28] No space left on device' >&2; exit 1\n", answer)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	// Otherwise a process that another test starts holds the file open: "text file busy".
	syscall.ForkLock.RLock()
	err := os.WriteFile(path, []byte(script), 0o755)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	r, err := runner.New(runner.Options{Python: path, CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	a := pythonAssignment(t, "def run_fn(fn_args):\n    pass\n")
	a.Module.Requirements = []string{"humanize"}
	if _, err := r.Run(t.Context(), a, runner.Limits{}, nil); err == nil || asError(t, err).Kind != runner.KindHost {
		t.Errorf("%v, want a fault of the host's", err)
	}
}

// The cause of an exception determines how the job is handled. Each is in line 4 of the module.
func TestAnExceptionIsReportedByItsCause(t *testing.T) {
	t.Parallel()
	r := pythonRunner(t)
	for name, c := range map[string]struct {
		raise string
		kind  runner.Kind
		says  string
	}{
		"no such label": {
			"ValueError('The `label_key` provided (zzz) must be one of the following tensorsnames: dict_keys([])')", runner.KindInput,
			"ValueError: The `label_key` provided",
		},
		"no such feature": {
			`RuntimeError("Feature: fare (data type: float) is required but could not be found.")`, runner.KindInput,
			"RuntimeError: Feature: fare",
		},
		"another type": {
			`ValueError("Key: fare.  Data types don't match. Expected type: float")`, runner.KindInput,
			"Key: fare",
		},
		"words like it": {
			`ValueError("label_key must not be empty")`, runner.KindModule,
			"ValueError: label_key must not be empty",
		},
		"a full disk": {
			`OSError(28, "No space left on device", "/x")`, runner.KindHost,
			"No space left on device: '/x'",
		},
		"a full disk, as TensorFlow says it": {
			`RuntimeError("/x/y; No space left on device")`, runner.KindHost,
			"No space left on device",
		},
		"no memory": {"MemoryError()", runner.KindResources, "MemoryError"},
		"a status": {
			"SystemExit('give up')", runner.KindModule,
			"SystemExit: the module called sys.exit(give up) before it was done",
		},
		"no text": {`ValueError("\ud800 and \x00")`, runner.KindModule, "ValueError: "},
		"many lines": {
			`ValueError("Graph execution error:\n\nDetected at node x")`, runner.KindModule,
			"Graph execution error:\n\nDetected at node x",
		},
		"an import of tensorflow_transform": {
			"ModuleNotFoundError(\"No module named 'tensorflow_transform'\", name='tensorflow_transform')", runner.KindModule,
			"`stoker python setup` makes one that has it",
		},
		"an import of tfx": {
			"ModuleNotFoundError(\"No module named 'tfx.extensions'\", name='tfx.extensions')", runner.KindModule,
			"add tfx to module.requirements",
		},
		"an import of sklearn": {
			"ModuleNotFoundError(\"No module named 'sklearn.tree'\", name='sklearn.tree')", runner.KindModule,
			"module.requirements: [scikit-learn]",
		},
		"an import of a file whose name is like ours": {
			"ModuleNotFoundError(\"No module named 'stoker_features'\", name='stoker_features')", runner.KindModule,
			"if it is a file of yours, to the module's folder",
		},
		"an import of a sibling's": {
			"ImportError(\"cannot import name 'x' from 'features'\", name='features')", runner.KindModule,
			"cannot import name 'x' from 'features'",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := pythonAssignment(t, "\ndef run_fn(fn_args):\n    print('runs')\n    raise "+c.raise)
			_, err := r.Run(t.Context(), a, runner.Limits{}, nil)
			if err == nil {
				t.Fatal("done")
			}
			const where = "user_module.py:4 in run_fn: "
			got := asError(t, err)
			if got.Kind != c.kind || !strings.Contains(got.Error(), c.says) || !strings.Contains(got.Error(), where) {
				t.Errorf("got  %s: %v\nwant %s: %s ... %s", got.Kind, got, c.kind, where, c.says)
			}
		})
	}
}

func TestAPipelineMustSayWhichOfTwoModuleFilesIsMeant(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"baseline.py", "wide.py"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("def run_fn(fn_args):\n  pass\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const neither, undecided = "no-such-python", "baseline.py, wide.py each define run_fn"
	r, err := runner.New(runner.Options{CacheDir: t.TempDir(), Python: filepath.Join(dir, neither)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	for _, tt := range []struct {
		name   string
		source module.Source
		call   module.Call
		want   string // neither: the files were found, and the interpreter was not
	}{
		{"nothing is said", module.Source{}, module.CallTrain, undecided},
		{"a function alone", module.Source{RunFn: "run_fn"}, module.CallTrain, undecided},
		{"the file too", module.Source{RunFn: "wide.run_fn"}, module.CallTrain, neither},
		{"only that of the other call", module.Source{RunFn: "wide.run_fn"}, module.CallTune, undecided},
		{"both", module.Source{RunFn: "wide.run_fn", TunerFn: "baseline.tuner_fn"}, module.CallTune, neither},
	} {
		a := module.Assignment{
			Version: module.ProtocolVersion, Module: tt.source, Call: tt.call, TrainFiles: []string{dir}, WorkingDir: dir, ServingModelDir: dir,
			ModelRunDir: dir, BestHyperparametersDir: dir, TunerResultsDir: dir,
		}
		a.Module.Path = dir
		_, err := r.Run(t.Context(), a, runner.Limits{}, nil)
		if failed, ok := errors.AsType[*runner.Error](err); !ok || failed.Kind != runner.KindInput || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
}

func TestAJobThatIsStoppedWhileItsModuleIsReadIsNotTheMachinesFault(t *testing.T) {
	t.Parallel()
	r, err := runner.New(runner.Options{CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the worker leaves"))
	_, err = r.Digest(ctx, module.Source{Path: "testdata/spared/penguin.py"})
	if failed, ok := errors.AsType[*runner.Error](err); !ok || failed.Kind != runner.KindStopped || !strings.Contains(err.Error(), "the worker leaves") {
		t.Errorf("%v, want stopped, as the worker leaves", err)
	}
}

func TestWhatIsSaidForPythonIsRefusedForAGoProgram(t *testing.T) {
	t.Parallel()
	r, err := runner.New(runner.Options{CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	_, err = r.Digest(t.Context(), module.Source{Path: "testdata/hello", Keras: module.Keras3, RunFn: "m.run_fn"})
	const want = "module testdata/hello is not a TFX module: remove run_fn, keras (only for TFX modules)"
	if failed, ok := errors.AsType[*runner.Error](err); !ok || failed.Kind != runner.KindInput || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// dumps is a module that writes down its arguments as Python has them: 1.0 is not 1, None is not an
// empty list. It then fails.
const dumps = `
import json, os

def run_fn(fn_args):
    seen = {name: repr(value) for name, value in vars(fn_args).items() if name != "data_accessor"}
    data = fn_args.data_accessor
    seen["data_accessor"] = repr([callable(data.tf_dataset_factory), callable(data.record_batch_factory), data.data_view_decode_fn])
    folders = fn_args.working_dir, fn_args.model_run_dir, fn_args.serving_model_dir
    seen["there"] = repr([bool(d) and os.path.exists(d) for d in folders])
    with open(os.path.join(fn_args.working_dir, "seen.json"), "w") as file:
        json.dump(seen, file)
    raise SystemExit(7)

tuner_fn = run_fn
`

// fnArgs are the fields of FnArgs, as Python prints them, for the assignment of fullAssignment: as
// in TFX 1.16, and num_examples as in its newest version. base_models is the older name of
// base_model.
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

// fullAssignment has a value in each field.
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
	r := pythonRunner(t)
	for _, call := range []module.Call{module.CallTrain, module.CallTune} {
		t.Run(string(call), func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			got := dumpFnArgs(t, r, fullAssignment(root, dumping(t), call))
			compareFields(t, got, fnArgs(call, root))
		})
	}
}

// Arguments that a job doesn't have are None in TFX, except for files.
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
		// Not a field of FnArgs, and present only with statistics.
		if _, ok := want[name]; !ok && name != "num_examples" {
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

// dumpFnArgs runs the module that writes down its FnArgs.
func dumpFnArgs(t *testing.T, r *runner.Runner, a module.Assignment) (fields map[string]string) {
	t.Helper()
	_, runErr := r.Run(t.Context(), a, runner.Limits{}, nil)
	text, err := os.ReadFile(filepath.Join(a.WorkingDir, "seen.json"))
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

// A script that answers like an interpreter is enough, because the interpreter is never started.
func TestAModelIsAskedByThePythonOfItsModule(t *testing.T) {
	t.Parallel()
	interpreter := func(modules string) string {
		path := filepath.Join(t.TempDir(), "python")
		script := "#!/bin/sh\necho '" + `{"interpreter": "` + path + `", "version": "3.11.7", "modules": [` + modules + "]}'\n"
		// Otherwise a process that another test starts holds the file open: "text file busy".
		syscall.ForkLock.RLock()
		err := os.WriteFile(path, []byte(script), 0o755)
		syscall.ForkLock.RUnlock()
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	byDefault, named, bare := interpreter(`"tensorflow"`), interpreter(`"tensorflow"`), interpreter("")
	r, err := runner.New(runner.Options{Python: byDefault, CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	for _, test := range []struct {
		source module.Source
		want   string
	}{
		{module.Source{Path: "builtin:dnn"}, byDefault},
		{module.Source{Path: "penguin.py", Python: named}, named},
		{module.Source{Path: "penguin.py", Python: bare}, ""},
		{module.Source{Path: "penguin.py", Python: "/no/such/python"}, ""},
	} {
		if got := r.Interpreter(t.Context(), test.source); got != test.want {
			t.Errorf("%+v: %q, want %q", test.source, got, test.want)
		}
	}
}

// greets returns a wheel of one module.
func greets(t *testing.T, word string) string {
	t.Helper()
	return wheelOf(t, [2]string{"greets.py", "word = '" + word + "'"})
}

// wheelOf returns a wheel of one file, which is named after the file.
func wheelOf(t *testing.T, content [2]string) string {
	t.Helper()
	name := strings.TrimSuffix(content[0], filepath.Ext(content[0]))
	path, info := filepath.Join(t.TempDir(), name+"-1.0-py3-none-any.whl"), name+"-1.0.dist-info/"
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	archive := zip.NewWriter(file)
	for _, f := range [][2]string{
		content,
		{info + "METADATA", "Metadata-Version: 2.1\nName: " + name + "\nVersion: 1.0\n"},
		{info + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{info + "RECORD", content[0] + ",,\n" + info + "METADATA,,\n" + info + "WHEEL,,\n" + info + "RECORD,,\n"},
	} {
		w, err := archive.Create(f[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(f[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestATFXModuleHasItsRequirements(t *testing.T) {
	t.Parallel()
	r, err := runner.New(runner.Options{Python: tftest.Python(t), CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	a := pythonAssignment(t, `
import importlib.metadata, os
import greets

def run_fn(fn_args):
    assert importlib.metadata.version("tensorflow-transform"), "what the environment has is there too"
    os.makedirs(fn_args.serving_model_dir)
    with open(os.path.join(fn_args.serving_model_dir, "said"), "w") as file:
        file.write(greets.word)
`)
	digests := map[string]bool{}
	for _, word := range []string{"hello", "goodbye"} {
		a.Module.Requirements = []string{greets(t, word)}
		a.ServingModelDir = filepath.Join(t.TempDir(), "model")
		if outcome, err := r.Run(t.Context(), a, runner.Limits{}, nil); err != nil {
			t.Fatal(err, outcome.LogTail)
		}
		if said, err := os.ReadFile(filepath.Join(a.ServingModelDir, "said")); err != nil || string(said) != word {
			t.Errorf("said %s, %v, want %s", said, err, word)
		}
		digest, err := r.Digest(t.Context(), a.Module)
		if err != nil {
			t.Fatal(err)
		}
		digests[digest] = true
	}
	if len(digests) != 2 {
		t.Error("another package of the same version, the same execution")
	}
}

// atStart returns a wheel with a line that every interpreter that sees the package runs at its
// start: it reads a file, writes to another directory, and reports in shared memory what it could
// do.
func atStart(t *testing.T, secret, loot, witness string) string {
	t.Helper()
	line := fmt.Sprintf("import os; exec(%q)\n", fmt.Sprintf(`
def attempt(what, do):
    try:
        result = str(do())
    except OSError as error:
        result = "fails"
    with open(%[3]q, "a") as file:
        file.write(what + ": " + result + "\n")
attempt("read", lambda: open(%[1]q).read())
attempt("write", lambda: open(os.path.join(%[2]q, "loot"), "a").write("x"))
`, secret, loot, witness))
	return wheelOf(t, [2]string{"at_start.pth", line})
}

// Code that a pipeline's requirements run when interpreters start, from their installation on,
// reads no credentials and writes to no other directories.
func TestRequirementsRunInASandboxFromTheirInstallationOn(t *testing.T) {
	if !canSandbox(t) {
		return
	}
	interpreter := tftest.Python(t)
	for _, way := range append(ways(), "without") {
		t.Run(way, func(t *testing.T) {
			t.Setenv("STOKER_MODULE_WRITE", "")
			if way == "without" {
				t.Setenv("STOKER_MODULE_SANDBOX", "off")
			}
			secret := filepath.Join(t.TempDir(), "key")
			if err := os.WriteFile(secret, []byte("the key"), 0o600); err != nil {
				t.Fatal(err)
			}
			loot := folderElsewhere(t, "")
			witness := filepath.Join(folderElsewhere(t, "/dev/shm"), "witness")
			a := pythonAssignment(t, "import greets\n\ndef run_fn(fn_args):\n    print(greets.word)\n")
			a.Module.Requirements = []string{greets(t, "hello"), atStart(t, secret, loot, witness)}
			opts := runner.Options{Python: interpreter, CacheDir: t.TempDir(), Warm: 1, PythonWarm: way, Hidden: []string{secret},
				WorkDir: filepath.Dir(t.TempDir()), Env: []string{"STOKER_PRELOAD="}}
			if way == "without" {
				opts.PythonWarm = runner.WarmOff
			}
			r, err := runner.New(opts)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if outcome, err := r.Run(t.Context(), a, runner.Limits{}, nil); err != nil || !strings.Contains(outcome.LogTail, "hello") {
				t.Fatal(err, outcome.LogTail)
			}
			seen, err := os.ReadFile(witness)
			if err != nil || strings.Count(string(seen), "read: ") < 2 {
				t.Fatalf("it ran at %q, %v, want when it was asked for its packages and when it was started", seen, err)
			}
			_, err = os.Stat(filepath.Join(loot, "loot"))
			if free := way == "without"; strings.Contains(string(seen), "the key") != free || (err == nil) != free {
				t.Errorf("it could\n%s", seen)
			}
		})
	}
}

// folderElsewhere returns a directory that is not below any of the test's own.
func folderElsewhere(t *testing.T, parent string) string {
	t.Helper()
	dir, err := os.MkdirTemp(parent, "stoker-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// poisonScript leaves, next to each source file below a directory, compiled code that Python takes
// for that file's, by its time and size or by an unchecked hash.
const poisonScript = `
import importlib.util, marshal, os, struct, sys
folder, loot = sys.argv[1:]
evil = f"open({loot!r}, 'a').write(__name__ + '\\n')\n"
for top, _, names in os.walk(folder):
    for name in names:
        source = os.path.join(top, name)
        if not name.endswith(".py"):
            continue
        with open(source) as file:
            code = marshal.dumps(compile(evil + file.read().replace("from __future__", "#"), source, "exec"))
        state = os.stat(source)
        target = importlib.util.cache_from_source(source)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        for path in (target, target.replace(".pyc", ".opt-1.pyc")):
            with open(path, "wb") as file:
                file.write(importlib.util.MAGIC_NUMBER + struct.pack("<III", 0, int(state.st_mtime), state.st_size) + code)
        print(source)
for top in [d for d, _, _ in os.walk(folder) if os.path.basename(d) in ("driver", "shim")]:
    for name in ("colorsys.py", "sitecustomize.py", "usercustomize.py"):
        with open(os.path.join(top, name), "w") as file:
            file.write(evil)
`

func TestCompiledCodeThatAModuleLeavesIsRunByNobody(t *testing.T) {
	t.Parallel()
	interpreter, cache, loot := tftest.Python(t), t.TempDir(), filepath.Join(t.TempDir(), "loot")
	a := pythonAssignment(t, "import colorsys\n\ndef run_fn(fn_args):\n    print('the module itself')\n")
	for range 2 {
		r, err := runner.New(runner.Options{Python: interpreter, CacheDir: cache})
		if err != nil {
			t.Fatal(err)
		}
		outcome, err := r.Run(t.Context(), a, runner.Limits{}, nil)
		r.Close()
		if err != nil || !strings.HasSuffix(outcome.LogTail, "the module itself\n") {
			t.Fatalf("it printed %q, error %v", outcome.LogTail, err)
		}
		if text, err := os.ReadFile(loot); err == nil {
			t.Fatalf("another's code ran as\n%s", text)
		}
		cmd := exec.CommandContext(t.Context(), interpreter, "-c", poisonScript, cache, loot)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) == 0 {
			t.Fatalf("%v: %s", err, out)
		}
	}
}

// The files may be changed between the digest and the start, which may be minutes apart.
func TestAModulesFilesAreItsOwnWhileItRuns(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	r, err := runner.New(runner.Options{Python: tftest.Python(t), CacheDir: cache})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	a := pythonAssignment(t, `
import os, pathlib

def run_fn(fn_args):
    here = pathlib.Path(__file__).parent
    print(str(here) == os.environ["HOME"] + "-files", os.listdir(os.environ["HOME"]))
`)
	outcome, err := r.Run(t.Context(), a, runner.Limits{}, nil)
	if err != nil || !strings.HasSuffix(outcome.LogTail, "True []\n") {
		t.Errorf("it printed %q, error %v", outcome.LogTail, err)
	}
}

// Many jobs share the memory of a process that imports for them. As root nothing can be tested:
// root reads all memory.
func TestAProcessThatImportsForManyJobsHidesItsMemory(t *testing.T) {
	t.Parallel()
	const script = `
import ctypes
from stoker_runner import __main__, job, preload
PR_GET_DUMPABLE = 3
show = lambda *_: print(ctypes.CDLL(None).prctl(PR_GET_DUMPABLE), flush=True)
preload.everything = show
real = job.sandbox.enter
job.sandbox.enter = lambda sandbox: (real(sandbox), show())
__main__.main("idle")
`
	cmd := exec.CommandContext(t.Context(), tftest.Python(t), "-c", script)
	cmd.Env = append(os.Environ(), "PYTHONPATH=python/driver", "STOKER_PROGRESS_FD=1")
	cmd.Stdin = strings.NewReader("{\"sandbox\": null}\n{}\n")
	out, _ := cmd.Output() // it lacks the rest of an assignment
	if !strings.HasPrefix(string(out), "0\n1\n") {
		t.Errorf("dumpable is %q, want 0 while it imports and 1 when it has a job", out)
	}
}
