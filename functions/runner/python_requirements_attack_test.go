package runner_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/runner"
)

// atStart is a wheel with a line that every interpreter runs that sees the package, when it starts: it reads a file and writes to another
// folder, and tells in shared memory what it could.
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

// What a pipeline's requirements run when interpreters start, from their installation on, reads no credentials and writes to no other folders.
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
			host, err := runner.New(opts)
			if err != nil {
				t.Fatal(err)
			}
			defer host.Close()
			if outcome, err := host.Run(t.Context(), a, runner.Limits{}, nil); err != nil || !strings.Contains(outcome.LogTail, "hello") {
				t.Fatal(err, outcome.LogTail)
			}
			told, err := os.ReadFile(witness)
			if err != nil || strings.Count(string(told), "read: ") < 2 {
				t.Fatalf("it ran at %q, %v, want when it was asked for its packages and when it was started", told, err)
			}
			_, err = os.Stat(filepath.Join(loot, "loot"))
			if free := way == "without"; strings.Contains(string(told), "the key") != free || (err == nil) != free {
				t.Errorf("it could\n%s", told)
			}
		})
	}
}

// folderElsewhere is a folder that is below none of the test's own.
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
