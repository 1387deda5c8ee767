//go:build python

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/runner/python"
	"github.com/stoker-ml/stoker/functions/stoker/admin"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
)

// The documented commands, with empty caches, create environments in which everything can be
// imported. It downloads 3 GB and takes some minutes.
func TestPythonSetupMakesEnvironmentsThatWork(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	t.Setenv(runner.PythonEnv, "")
	var estimator, made python.Made
	stoker(t, &estimator, "python", "setup", "--estimator")
	stoker(t, &made, "python", "setup")

	for interpreter, version := range map[string]string{"": "2.21.0", estimator.Interpreter: "2.15.1"} {
		var checked python.Checked
		stoker(t, &checked, slices.DeleteFunc([]string{"python", "check", interpreter}, func(arg string) bool { return arg == "" })...)
		for _, p := range checked.Packages {
			if p.Problem != "" || p.Package == "tensorflow" && p.Version != version {
				t.Errorf("%s: %+v, want TensorFlow %s", checked.Interpreter, p, version)
			}
		}
	}
	requirementsComeFromTheRegistry(t, made)

	var lines []admin.EnvironmentLine
	stoker(t, &lines, "python", "list")
	if len(lines) != 2 || !lines[0].Default || lines[0].Dir != made.Dir || !lines[0].Current || lines[1].Default || lines[1].Dir != estimator.Dir {
		t.Errorf("listed %+v", lines)
	}
}

// requirementsComeFromTheRegistry installs a package that needs TensorFlow under its other name,
// and the pkg_resources of an older setuptools.
func requirementsComeFromTheRegistry(t *testing.T, made python.Made) {
	t.Helper()
	cache := t.TempDir()
	e, err := python.Find(t.Context(), python.Options{CacheDir: cache, Requirements: []string{"tensorflow-hub", "setuptools<81"}})
	if err != nil {
		t.Fatal(err)
	}
	const script = "import tensorflow_hub, tensorflow; print(tensorflow.__file__)"
	cmd := exec.CommandContext(t.Context(), e.Interpreter, "-c", script)
	cmd.Env = append(os.Environ(), "TF_USE_LEGACY_KERAS=1")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil || !bytes.HasPrefix(out, []byte(made.Dir+string(filepath.Separator))) {
		t.Errorf("%v: TensorFlow is %s, want that of %s: %s", err, out, made.Dir, said.String())
	}
}

// stoker runs a command and decodes its result.
func stoker(t *testing.T, out any, args ...string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := execute(t.Context(), append([]string{"stoker", "-o", "json"}, args...), &stdout, &stderr); code != exit.OK {
		t.Fatalf("stoker %v: status %d: %s", args, code, stderr.String())
	}
	if err := json.Unmarshal(stdout.Bytes(), out); err != nil {
		t.Fatalf("stoker %v: %v: %s", args, err, stdout.String())
	}
}
