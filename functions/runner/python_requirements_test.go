package runner_test

import (
	"archive/zip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/runner"
)

// greets is a wheel of one module.
func greets(t *testing.T, word string) string {
	t.Helper()
	return wheelOf(t, [2]string{"greets.py", "word = '" + word + "'"})
}

// wheelOf is a wheel of one file, by whose name it has its own.
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
	host, err := runner.New(runner.Options{Python: tftest.Python(t), CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
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
		if outcome, err := host.Run(t.Context(), a, runner.Limits{}, nil); err != nil {
			t.Fatal(err, outcome.LogTail)
		}
		if said, err := os.ReadFile(filepath.Join(a.ServingModelDir, "said")); err != nil || string(said) != word {
			t.Errorf("said %s, %v, want %s", said, err, word)
		}
		digest, err := host.Digest(t.Context(), a.Module)
		if err != nil {
			t.Fatal(err)
		}
		digests[digest] = true
	}
	if len(digests) != 2 {
		t.Error("another package of the same version, the same execution")
	}
}
