package tftest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestScriptComputesWithTensorFlow(t *testing.T) {
	t.Parallel()
	var out struct {
		Sum     []float64
		Raw     []byte
		Version string
	}
	RunLive(t, `
def check(input):
    print("seen in the log")
    return {"sum": tf.constant(input["x"]) + 1.0, "raw": b64(input["raw"]) + b"!", "version": tf.__version__}
`, map[string]any{"x": []float32{0.5, 2}, "raw": []byte{0xff, 0}}, &out)
	if len(out.Sum) != 2 || out.Sum[0] != 1.5 || out.Sum[1] != 3 {
		t.Errorf("sum = %v, want [1.5 3]", out.Sum)
	}
	if !bytes.Equal(out.Raw, []byte{0xff, 0, '!'}) {
		t.Errorf("raw = %q", out.Raw)
	}
	if out.Version != "2.21.0" {
		t.Errorf("TensorFlow %s, the lock says 2.21.0", out.Version)
	}
}

func TestNumbersThatJSONLacksComeBack(t *testing.T) {
	t.Parallel()
	var out []Number
	RunLive(t, "def check(_):\n    return tf.constant([float('nan'), float('inf'), -float('inf'), 0.1])", nil, &out)
	if len(out) != 4 || !math.IsNaN(float64(out[0])) || !math.IsInf(float64(out[1]), 1) || !math.IsInf(float64(out[2]), -1) {
		t.Errorf("numbers %v, want NaN, both infinities and 0.1", out)
	}
	if float32(out[3]) != 0.1 {
		t.Errorf("0.1 as float32 came back as %v", out[3])
	}
}

func TestScriptsDoNotShareState(t *testing.T) {
	t.Parallel()
	var first, second bool
	RunLive(t, "def check(_):\n    tf.stoker_was_here = True\n    return True", nil, &first)
	RunLive(t, "def check(_):\n    return hasattr(tf, 'stoker_was_here')", nil, &second)
	if !first || second {
		t.Errorf("a script saw what an earlier one left: %v, %v", first, second)
	}
}

func TestTemporaryFilesOfAScriptAreRemoved(t *testing.T) {
	t.Parallel()
	var folder string
	RunLive(t, "import os, tempfile\ndef check(_):\n    made = tempfile.mkdtemp()\n    open(os.path.join(made, 'file'), 'w').close()\n    return made", nil, &folder)
	if _, err := os.Stat(folder); folder == "" || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%q: %v, want it to be removed", folder, err)
	}
}

func TestCrashEndsOnlyItsOwnScript(t *testing.T) {
	t.Parallel()
	text := failLive(t, "import os\ndef check(_):\n    os.abort()", nil)
	if !strings.Contains(text, "signal 6") {
		t.Errorf("error %q doesn't name signal 6", text)
	}
	var alive bool
	RunLive(t, "def check(_):\n    return True", nil, &alive)
}

func TestExceptionCarriesItsTraceback(t *testing.T) {
	t.Parallel()
	text := failLive(t, "def check(input):\n    raise ValueError(input)", "no such thing")
	if !strings.Contains(text, "ValueError: no such thing") {
		t.Errorf("error %q", text)
	}
}

// failLive is Fail of the real TensorFlow.
func failLive(t *testing.T, script string, in any) string {
	t.Helper()
	needLive(t)
	return ask(t, shared, request{Script: script, Input: in}).Error
}

func TestHalfMadeEnvironmentIsMadeAgain(t *testing.T) {
	t.Parallel()
	var notice bytes.Buffer
	env := environment{dir: filepath.Join(t.TempDir(), "python", "x"), notice: &notice}
	broken := errors.New("registry away")
	err := env.ensure(func(e environment) error {
		return errors.Join(os.MkdirAll(e.dir, 0o755), os.WriteFile(e.leftover(), nil, 0o644), broken)
	})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), env.dir) {
		t.Fatalf("error %v doesn't name cause and folder", err)
	}
	runs := 0
	install := func(e environment) error {
		runs++
		if _, err := os.Stat(e.leftover()); err == nil {
			t.Error("the half-made environment is still there")
		}
		return os.MkdirAll(e.dir, 0o755)
	}
	for range 2 {
		if err := env.ensure(install); err != nil {
			t.Fatal(err)
		}
	}
	if runs != 1 {
		t.Errorf("installed %d times, want once", runs)
	}
	if want := "installing Python packages for tests into " + env.dir; !strings.Contains(notice.String(), want) {
		t.Errorf("notice %q", notice.String())
	}
}

func (e environment) leftover() string { return filepath.Join(e.dir, "leftover") }

func TestEnvironmentIsNamedByItsLock(t *testing.T) {
	t.Parallel()
	a, err := findEnvironment("cache", []byte("a"), nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := findEnvironment("cache", []byte("b"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if a.dir == b.dir {
		t.Errorf("two locks share %s", a.dir)
	}
}

func TestPythonHasTensorFlow(t *testing.T) {
	t.Parallel()
	if _, err := command(Python(t), "-c", "import importlib.metadata as m; assert m.version('tensorflow-cpu')"); err != nil {
		t.Fatal(err)
	}
}

// The settings of a task for TensorFlow reach it: the number of its threads, and oneDNN's kernels.
// Not parallel: it changes the environment.
func TestSettingsReachTensorFlow(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("threads are counted in Linux's /proc")
	}
	python := Python(t)
	type seen struct {
		Threads int
		OneDNN  bool
	}
	ask := func(threads, oneDNN string) (out seen) {
		t.Setenv("TF_NUM_INTRAOP_THREADS", threads)
		t.Setenv("TF_ENABLE_ONEDNN_OPTS", oneDNN)
		s, err := start(python)
		if err != nil {
			t.Fatal(err)
		}
		defer s.stdin.(io.Closer).Close()
		a, err := s.ask(request{Script: `
import os
from tensorflow.python.util import _pywrap_util_port
def check(_):
    tf.linalg.matmul(tf.ones([800, 800]), tf.ones([800, 800])).numpy()
    return {"threads": len(os.listdir("/proc/self/task")), "onednn": _pywrap_util_port.IsMklEnabled()}
`})
		if err != nil || a.Error != "" {
			t.Fatal(err, a.Error)
		}
		if err := json.Unmarshal(a.Output, &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	few, many := ask("2", "0"), ask("16", "1")
	if many.Threads < few.Threads+10 || few.OneDNN || !many.OneDNN {
		t.Errorf("with 2 threads and without oneDNN %+v, with 16 and with it %+v", few, many)
	}
}
