package python_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/functions/runner/python"
)

// fake is a program that answers like an interpreter that is asked what it has.
type fake struct {
	version  string
	packages map[string]string
	modules  []string
}

// whole has all packages that module files import.
func whole() fake {
	return fake{
		version: "3.11.7", packages: map[string]string{"tensorflow-cpu": "2.21.0", "numpy": "2.4.6"},
		modules: []string{"tensorflow", "tensorflow_transform", "tfx_bsl", "keras_tuner", "tensorboard", "tf_keras"},
	}
}

// write writes the program into the directory of an environment, and returns its path.
func (f fake) write(t *testing.T, dir string) string {
	t.Helper()
	path, site := filepath.Join(dir, "bin", "python"), filepath.Join(dir, "site-packages")
	for _, folder := range []string{filepath.Dir(path), site} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	answer, err := json.Marshal(map[string]any{
		"interpreter": path, "version": f.version, "packages": f.packages, "modules": f.modules, "sites": []string{site}, "watched": []string{path, site},
	})
	if err != nil {
		t.Fatal(err)
	}
	return program(t, path, fmt.Sprintf("echo >> %s/started\necho '%s'", dir, answer))
}

func program(t *testing.T, path, script string) string {
	t.Helper()
	// Otherwise a process that another test starts holds the file open: "text file busy".
	syscall.ForkLock.RLock()
	err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// started returns how often the interpreter in dir was started.
func started(t *testing.T, dir string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "started"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Count(string(text), "\n")
}

func TestAPipelinesPythonGoesBeforeTheWorkers(t *testing.T) {
	t.Parallel()
	named, byDefault := whole().write(t, t.TempDir()), whole().write(t, t.TempDir())
	for _, test := range []struct {
		opts python.Options
		want string
	}{
		{python.Options{Named: named, Default: byDefault}, named},
		// A directory.
		{python.Options{Named: filepath.Dir(filepath.Dir(named)), Default: byDefault}, named},
		{python.Options{Default: byDefault}, byDefault},
	} {
		test.opts.Home = t.TempDir()
		if e, err := python.Find(t.Context(), test.opts); err != nil || e.Interpreter != test.want {
			t.Errorf("%+v: found %s, %v, want %s", test.opts, e.Interpreter, err, test.want)
		}
	}
}

func TestWhatIsMissingIsSaidInOneLine(t *testing.T) {
	t.Parallel()
	bare := fake{version: "3.12.1", packages: map[string]string{"pip": "24.0"}}.write(t, t.TempDir())
	old := whole()
	old.version = "3.9.18"
	odd := t.TempDir()
	for name, test := range map[string]struct {
		named string
		want  string
	}{
		"nothing was set up":   {"", "run `stoker python setup`, or set STOKER_PYTHON"},
		"there is no such":     {"/no/such/python", "module.python: neither an interpreter nor the folder of an environment: exec: \"/no/such/python\""},
		"a folder of anything": {odd, odd + " is not a Python environment: it has no bin/python"},
		"no TensorFlow": {bare, bare + " lacks tensorflow, tensorflow-transform, tfx-bsl, keras-tuner, tensorboard, tf_keras: run `" + bare +
			" -m pip install tensorflow tensorflow-transform"},
		"too old":       {old.write(t, t.TempDir()), "is Python 3.9.18, which is too old: TFX modules need 3.10 or later"},
		"no Python":     {program(t, filepath.Join(odd, "hello"), "echo hello"), "its output is \"hello"},
		"broken":        {program(t, filepath.Join(odd, "broken"), "echo no libpython >&2; exit 3"), "exit status 3: no libpython"},
		"endless noise": {program(t, filepath.Join(odd, "noise"), "exec yes"), "its output is longer than 8388608 bytes"},
	} {
		_, err := python.Find(t.Context(), python.Options{Named: test.named, Home: t.TempDir(), CacheDir: t.TempDir()})
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want one line with %q", name, err, test.want)
		}
	}
	if _, err := python.Find(t.Context(), python.Options{Home: t.TempDir()}); !errors.Is(err, python.ErrNone) {
		t.Errorf("error %v is not ErrNone", err)
	}
}

func TestWhatOnlySomeModulesImportIsNoFault(t *testing.T) {
	t.Parallel()
	f := whole()
	f.modules = []string{"tensorflow", "tensorboard"}
	e, err := python.Find(t.Context(), python.Options{Named: f.write(t, t.TempDir())})
	if err != nil {
		t.Fatal(err)
	}
	if lacks := strings.Join(e.Lacks(), " "); lacks != "tensorflow-transform tfx-bsl keras-tuner tf_keras" {
		t.Errorf("lacks %s", lacks)
	}
	f.packages = map[string]string{"tensorflow": "2.15.1"}
	if e, err = python.Find(t.Context(), python.Options{Named: f.write(t, t.TempDir())}); err != nil {
		t.Fatal(err)
	}
	if lacks := strings.Join(e.Lacks(), " "); lacks != "tensorflow-transform tfx-bsl keras-tuner" {
		t.Errorf("lacks %s, and TensorFlow 2.15 has Keras 2 itself", lacks)
	}
}

func TestAnInterpreterIsAskedOnceUntilItsPackagesChange(t *testing.T) {
	t.Parallel()
	dir, cache := t.TempDir(), t.TempDir()
	path := whole().write(t, dir)
	find := func() python.Environment {
		e, err := python.Find(t.Context(), python.Options{Named: path, CacheDir: cache})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	first := find()
	if again := find(); again.Digest != first.Digest || len(again.Packages) != 2 {
		t.Errorf("remembered %+v, was %+v", again, first)
	}
	if n := started(t, dir); n != 1 {
		t.Errorf("started %d times, want once", n)
	}
	another := time.Now().Add(-time.Minute)
	// As when a package is installed.
	if err := os.Chtimes(filepath.Join(dir, "site-packages"), another, another); err != nil {
		t.Fatal(err)
	}
	find()
	find()
	if n := started(t, dir); n != 2 {
		t.Errorf("started %d times, want once more after its packages changed", n)
	}
}

func TestAScriptThatChoosesAnInterpreterIsAskedEachTime(t *testing.T) {
	t.Parallel()
	dir, cache := t.TempDir(), t.TempDir()
	script := program(t, filepath.Join(dir, "python3"), "exec "+whole().write(t, dir))
	for range 2 {
		if _, err := python.Find(t.Context(), python.Options{Default: script, CacheDir: cache}); err != nil {
			t.Fatal(err)
		}
	}
	if n := started(t, dir); n != 2 {
		t.Errorf("started %d times, want 2: it may choose another one", n)
	}
}

func TestADigestIsThatOfVersionsAlone(t *testing.T) {
	t.Parallel()
	digest := func(f fake) string {
		e, err := python.Find(t.Context(), python.Options{Named: f.write(t, t.TempDir())})
		if err != nil {
			t.Fatal(err)
		}
		return e.Digest
	}
	newer, other := whole(), whole()
	newer.version = "3.11.8"
	other.packages["numpy"] = "2.4.7"
	same := digest(whole())
	if digest(whole()) != same || digest(newer) == same || digest(other) == same {
		t.Error("a digest is not that of Python and its packages")
	}
}

func TestManyMayLookAtOnce(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	path := whole().write(t, t.TempDir())
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := python.Find(t.Context(), python.Options{Named: path, CacheDir: cache}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}
