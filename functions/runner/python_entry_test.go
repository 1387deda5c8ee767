package runner_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// entry is a module by its files, and what is called in it.
type entry struct {
	name   string
	files  map[string]string
	path   string // of the module, below the folder of its files; "": that folder
	fn     string // as a pipeline's module.run_fn
	logged string // when it is done
	says   string // when it isn't
}

// called is the text of a module whose function says its name.
func called(fn string) string {
	return "def " + fn + "(fn_args):\n    print('called', __name__, " + "'" + fn + "')\n"
}

func entries() []entry {
	siblings := map[string]string{
		"model.py":    "import features\nfrom tfx.examples.ours import more\n" + called("run_fn") + "    print(features.KEY, more.KEY)\n",
		"features.py": "KEY = 'a sibling'",
	}
	siblings["tfx/examples/ours/more.py"] = "KEY = 'one below tfx'"
	return []entry{
		{name: "run_fn of a file",
			files: map[string]string{"penguin.py": called("run_fn")},
			path:  "penguin.py", logged: "called penguin run_fn"},
		{name: "another function of a file",
			files: map[string]string{"penguin.py": called("train")},
			path:  "penguin.py", fn: "train",
			logged: "called penguin train"},
		{name: "a file that the pipeline names with the function",
			files: map[string]string{"a.py": called("run_fn"), "b.py": called("run_fn")},
			fn:    "b.run_fn", logged: "called b run_fn"},
		{name: "a module of a package",
			files: map[string]string{"pkg/__init__.py": "", "pkg/sub/mod.py": "from pkg import other\n" + called("go"),
				"pkg/other.py": ""}, fn: "pkg.sub.mod.go", logged: "called pkg.sub.mod go"},
		{name: "siblings, as plain modules and below tfx",
			files: siblings,
			path:  "", logged: "a sibling one below tfx"},
		{name: "a name with a dash",
			files: map[string]string{"my-penguin.py": called("run_fn")},
			path:  "my-penguin.py", logged: "called my-penguin"},
		{name: "a name that Python has taken",
			files: map[string]string{"json.py": called("run_fn")},
			path:  "json.py", logged: "called user_module_json"},
		{name: "a script that leaves behind its model",
			files: map[string]string{"m.py": "import os, sys\ndef run_fn(a):\n    os.makedirs(a.serving_model_dir + '/x')\n" +
				"    print('leaves')\n    sys.exit(0)\n"}, path: "m.py", logged: "leaves"},

		{name: "trainer_fn that saves by itself",
			files: map[string]string{"penguin.py": "import os\ndef trainer_fn(fn_args):\n    os.makedirs(fn_args.serving_model_dir)\n" +
				"    open(fn_args.serving_model_dir + '/model.txt', 'w').close()\n    print('saved by itself')\n"},
			path: "penguin.py", logged: "saved by itself"},
		{name: "trainer_fn that saves by itself and returns something else",
			files: map[string]string{"penguin.py": "import os\ndef trainer_fn(fn_args, schema=None):\n    os.makedirs(fn_args.serving_model_dir)\n" +
				"    open(fn_args.serving_model_dir + '/model.txt', 'w').close()\n    print('saved, schema', schema)\n    return {'loss': 1}\n"},
			path: "penguin.py", logged: "saved, schema None"},
		{name: "trainer_fn that does nothing", files: map[string]string{"penguin.py": "def trainer_fn(fn_args):\n    pass\n"}, path: "penguin.py",
			says: "ValueError: trainer_fn must return a dict of ['estimator', 'eval_input_receiver_fn', 'eval_spec', 'train_spec'], " +
				"or leave a model in fn_args.serving_model_dir: it returned a NoneType, and left none"},

		{name: "no function", files: map[string]string{"penguin.py": "X = 1"}, path: "penguin.py",
			says: "AttributeError: module 'penguin' has no attribute 'run_fn': expected a function run_fn(fn_args), or trainer_fn(fn_args, schema); " +
				"one of another name stands in the pipeline, as in run_fn: penguin.my_run_fn"},
		{name: "not the function that is named",
			files: map[string]string{"penguin.py": called("run_fn")},
			path:  "penguin.py", fn: "penguin.nope",
			says: "AttributeError: module 'penguin' has no attribute 'nope'"},
		{name: "no such path",
			files: map[string]string{"penguin.py": called("run_fn")},
			path:  "penguin.py", fn: "nope.mod.run_fn",
			says: "ImportError: Could not import requested module path 'nope.mod'."},
		{name: "no function but a value", files: map[string]string{"penguin.py": "run_fn = 3"}, path: "penguin.py",
			says: "TypeError: run_fn of module 'penguin' is no function but a int"},
		{name: "no Python",
			files: map[string]string{"penguin.py": "x = 1\ndef run_fn(fn_args:\n    pass\n"},
			path:  "penguin.py", says: "penguin.py:2: SyntaxError: "},
		{name: "a package that is not there",
			files: map[string]string{"penguin.py": "import sklearn_but_not_really.tree\n" + called("run_fn")},
			path:  "penguin.py",
			says: "penguin.py:1: ModuleNotFoundError: No module named 'sklearn_but_not_really' (add the package to the pipeline: " +
				"module.requirements: [sklearn-but-not-really], or --requirements sklearn-but-not-really of `stoker try`; or, " +
				"if it is a file of yours, to the module's folder)"},
		{name: "an error in a sibling",
			files: map[string]string{"penguin.py": "import features\ndef run_fn(a):\n    features.look()",
				"features.py": "def look():\n    return {}['fare']"},
			path: "penguin.py", says: "features.py:2 in look: KeyError: 'fare'"},
	}
}

func TestAFunctionIsFoundAsTFXFindsItOrAClearLineSaysWhyNot(t *testing.T) {
	t.Parallel()
	host := pythonRunner(t)
	for _, e := range entries() {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			a := e.assignment(t)
			outcome, err := host.Run(t.Context(), a, runner.Limits{}, nil)
			switch {
			case e.says == "" && err != nil:
				t.Fatalf("%v\n%s", err, asError(t, err).LogTail)
			case strings.Contains(e.logged, "saved") && !holds(a.ServingModelDir, "model.txt"):
				t.Errorf("no model in %s: %s", a.ServingModelDir, outcome.LogTail)
			case e.says == "" && !strings.Contains(outcome.LogTail, e.logged):
				t.Errorf("log: %s\nwant %q in it", outcome.LogTail, e.logged)
			case e.says != "" && (err == nil || !strings.Contains(err.Error(), e.says) || asError(t, err).Kind != runner.KindModule):
				t.Errorf("got  %v\nwant %s\n%s", err, e.says, asError(t, err).LogTail)
			case err != nil && strings.Contains(asError(t, err).LogTail, "stoker_runner"):
				t.Errorf("the log shows frames of the driver:\n%s", asError(t, err).LogTail)
			}
		})
	}
}

// holds says whether a folder has a file.
func holds(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

func (e entry) assignment(t *testing.T) module.Assignment {
	t.Helper()
	dir := t.TempDir()
	writeFiles(t, dir, e.files)
	a := pythonAssignment(t, "")
	a.Module = module.Source{Path: filepath.Join(dir, e.path), RunFn: e.fn}
	return a
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
