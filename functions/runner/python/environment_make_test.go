package python_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/runner/python"
)

// tiny returns options for an environment with an empty package that is called tensorflow.
func tiny(t *testing.T) python.MakeOptions {
	t.Helper()
	tftest.Python3(t)
	return python.MakeOptions{Home: t.TempDir(), Lock: []byte(wheel(t, "tensorflow", "9.9", "lazy = 1") + "\n")}
}

func TestAnEnvironmentIsMadeOnceAndFound(t *testing.T) {
	t.Parallel()
	opts := tiny(t)
	var all sync.WaitGroup
	made := make([]python.Made, 3)
	said := make([]bytes.Buffer, len(made))
	for i := range made {
		all.Go(func() {
			mine, err := opts, error(nil)
			mine.Progress = &said[i]
			if made[i], err = python.Make(t.Context(), mine); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if made[0].Dir == "" || made[1].Dir != made[0].Dir || made[2].Dir != made[0].Dir {
		t.Fatalf("made %+v, want one", made)
	}
	makers := 0
	for i := range said {
		makers += strings.Count(said[i].String(), "creating a Python environment")
	}
	if makers != 1 {
		t.Errorf("%d made it, want one of them", makers)
	}
	e, err := python.Find(t.Context(), python.Options{Home: opts.Home})
	if err != nil || e.Interpreter != made[0].Interpreter {
		t.Fatalf("found %+v, %v", e, err)
	}
	if got := e.Packages["tensorflow"]; !strings.HasPrefix(got, "9.9 @ ") {
		t.Errorf("tensorflow %q: what a file's package is, its version doesn't say", got)
	}
	if made[0].Current() {
		t.Error("its packages are taken for those of this version of Stoker")
	}
	if size, err := made[0].Bytes(); err != nil || size < 100<<10 {
		t.Errorf("%d bytes, %v", size, err)
	}
}

func TestWhatCannotBeInstalledIsNamedAndLeavesNothing(t *testing.T) {
	t.Parallel()
	opts := tiny(t)
	opts.Pip, opts.Lock = true, []byte("--no-index\nno-such-package-of-anybody==1.0\n")
	_, err := python.Make(t.Context(), opts)
	if err == nil || !strings.Contains(err.Error(), opts.Home) || !strings.Contains(err.Error(), "no-such-package-of-anybody==1.0") {
		t.Errorf("error %v doesn't name the folder and the package", err)
	}
	if left, err := filepath.Glob(filepath.Join(opts.Home, "*", "*")); err != nil || len(left) > 0 {
		t.Errorf("an environment that can't be made leaves %v, %v", left, err)
	}
}

func TestAPythonWithoutWheelsIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := program(t, filepath.Join(dir, "python3"), `echo '{"interpreter": "x", "version": "3.9.18", "minor": 9}'`)
	_, err := python.Make(t.Context(), python.MakeOptions{Home: dir, Base: old, Lock: []byte{}})
	if err == nil || !strings.Contains(err.Error(), "is Python 3.9.18, but wheels exist only for Python 3.11, 3.12 and 3.13") {
		t.Error(err)
	}
	_, err = python.Make(t.Context(), python.MakeOptions{Home: dir, Kind: python.Estimator, Base: old, Lock: []byte{}})
	if err == nil || !strings.Contains(err.Error(), "wheels exist only for Python 3.11") {
		t.Error(err)
	}
	if _, err = python.Make(t.Context(), python.MakeOptions{Home: dir, Kind: "tpu"}); err == nil {
		t.Error("there is no such kind")
	}
}

func TestWhatIsNamedIsUsed(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	dir := filepath.Join(home, "estimator")
	interpreter, long := whole().write(t, dir), time.Now().Add(-time.Hour*24*365)
	describe := filepath.Join(dir, "stoker.json")
	if err := os.WriteFile(describe, []byte(`{"kind": "estimator"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(describe, long, long); err != nil {
		t.Fatal(err)
	}
	if _, err := python.Find(t.Context(), python.Options{Named: interpreter}); err != nil {
		t.Fatal(err)
	}
	made, err := python.All(home)
	if err != nil || len(made) != 1 || made[0].Outdated(time.Now(), time.Hour) != "" {
		t.Errorf("%+v, %v: it is used, and looks as if it weren't", made, err)
	}
	if _, err := python.Default(home); !errors.Is(err, python.ErrNone) {
		t.Errorf("%v: that with Estimators is for those who name it", err)
	}
	if err := os.WriteFile(describe, []byte(`{"kind": "cpu"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(interpreter); err != nil {
		t.Fatal(err)
	}
	if _, err := python.Find(t.Context(), python.Options{Home: home}); err == nil || !strings.Contains(err.Error(), "run `stoker python setup`") {
		t.Error(err)
	}
}

func TestOutdatedEnvironmentsAreKnown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	interpreter := whole().write(t, dir)
	now := time.Now()
	for want, made := range map[string]python.Made{
		"":                   {Interpreter: interpreter, Used: now},
		"unused since ":      {Interpreter: interpreter, Used: now.Add(-time.Hour)},
		"its Python is gone": {Interpreter: filepath.Join(dir, "python"), Used: now},
		"the environment on which it is based is gone": {Interpreter: interpreter, Base: filepath.Join(dir, "python"), Used: now},
	} {
		if got := made.Outdated(now, time.Minute); !strings.HasPrefix(got, want) || (want == "") != (got == "") {
			t.Errorf("%+v: %q, want %q", made, got, want)
		}
	}
}
