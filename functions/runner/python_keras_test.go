package runner_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// needsKeras2 is a module whose source does not say what it needs. It fails as Keras 3 does, behind everything that it writes.
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
		"stoker: the module needs Keras 2, and starts again with it",
		"stoker: Keras 2.21.0: found out by trying the other one\nlegacy 1 finds [[], []]\n",
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

// wantKeras2AtOnce runs a module that needs it, without a try in between.
func wantKeras2AtOnce(t *testing.T, where string, host *runner.Runner, a module.Assignment) {
	t.Helper()
	outcome, err := host.Run(t.Context(), a, runner.Limits{}, nil)
	if err != nil || strings.Contains(outcome.LogTail, "legacy 0") || !strings.Contains(outcome.LogTail, "found out by trying") {
		t.Errorf("%s: %v\n%s", where, err, outcome.LogTail)
	}
}

func TestAKerasThatFailsIsToldWithTheOneToSet(t *testing.T) {
	t.Parallel()
	host := kerasRunner(t, t.TempDir())
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
			_, err := host.Run(t.Context(), a, runner.Limits{}, nil)
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

// The source says what a module needs, so that nothing is tried: of what is called, and of what that imports.
func TestTheSourceSaysWhichKerasIsNeeded(t *testing.T) {
	t.Parallel()
	host := kerasRunner(t, t.TempDir())
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
			outcome, err := host.Run(t.Context(), a, runner.Limits{}, nil)
			if err != nil || !strings.HasPrefix(outcome.LogTail, "stoker: "+c.says) {
				t.Errorf("%v\n%s\nwant %s", err, outcome.LogTail, c.says)
			}
		})
	}
}

// KerasTuner takes Keras 3's models alone, wherever the module's run_fn saves as Keras 2 does.
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
	host, err := runner.New(runner.Options{Python: tftest.Python(t), CacheDir: cache})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	return host
}

func kerasAssignment(t *testing.T, text string) module.Assignment {
	t.Helper()
	a := pythonAssignment(t, text)
	a.EvalModelDir = filepath.Join(filepath.Dir(a.ServingModelDir), "Format-TFMA")
	return a
}

// visible are the names of the files in a folder but for hidden ones.
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
