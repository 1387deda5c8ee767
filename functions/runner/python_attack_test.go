package runner_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/runner"
)

// poisonScript leaves, beside each source file below a folder, compiled code that Python takes for that file's: by its time and size, or
// by a hash that nobody checks.
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
		host, err := runner.New(runner.Options{Python: interpreter, CacheDir: cache})
		if err != nil {
			t.Fatal(err)
		}
		outcome, err := host.Run(t.Context(), a, runner.Limits{}, nil)
		host.Close()
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

// The files may be changed between the digest and the start, which may be minutes.
func TestAModulesFilesAreItsOwnWhileItRuns(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	host, err := runner.New(runner.Options{Python: tftest.Python(t), CacheDir: cache})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	a := pythonAssignment(t, `
import os, pathlib

def run_fn(fn_args):
    here = pathlib.Path(__file__).parent
    print(str(here) == os.environ["HOME"] + "-files", os.listdir(os.environ["HOME"]))
`)
	outcome, err := host.Run(t.Context(), a, runner.Limits{}, nil)
	if err != nil || !strings.HasSuffix(outcome.LogTail, "True []\n") {
		t.Errorf("it printed %q, error %v", outcome.LogTail, err)
	}
}

// Many jobs will have the memory of a process that imports for them. As root nothing can be tried of it: root reads all memory.
func TestAProcessThatImportsForManyJobsHidesItsMemory(t *testing.T) {
	t.Parallel()
	const script = `
import ctypes
from stoker_runner import __main__, job, preload
PR_GET_DUMPABLE = 3
tell = lambda *_: print(ctypes.CDLL(None).prctl(PR_GET_DUMPABLE), flush=True)
preload.everything = tell
real = job.sandbox.enter
job.sandbox.enter = lambda sandbox: (real(sandbox), tell())
__main__.main("idle")
`
	cmd := exec.CommandContext(t.Context(), tftest.Python(t), "-c", script)
	cmd.Env = append(os.Environ(), "PYTHONPATH=python/driver", "STOKER_PROGRESS_FD=1")
	cmd.Stdin = strings.NewReader("{\"sandbox\": null}\n{}\n")
	out, _ := cmd.Output() // it lacks all else of an assignment
	if !strings.HasPrefix(string(out), "0\n1\n") {
		t.Errorf("dumpable is %q, want 0 while it imports and 1 when it has a job", out)
	}
}
