package runner_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stoker-ml/stoker/functions/runner"
)

func TestWhatTheModulesOfAKilledHostLeftBehindIsEnded(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	file := filepath.Join(t.TempDir(), "pid")
	host := startRunner(t, "fork away and wait", file)
	kill(host)
	pid := readPID(t, file)
	if err := syscall.Kill(pid, 0); err != nil || isZombie(pid) {
		t.Errorf("process %d was gone with its host: %v", pid, err)
	}

	next, err := runner.New(runner.Options{})
	if err != nil {
		t.Fatal(err)
	}
	waitUntilGone(t, file)
	next.Close()
	if left, err := os.ReadDir(temporary); len(left) != 0 || err != nil {
		t.Errorf("left are %v, error %v", left, err)
	}
}

// The superuser may read everything: as root, the host of this test runs as nobody.
func TestAModuleCanNotReadItsWorkersEnvironmentAndMemory(t *testing.T) {
	t.Parallel()
	dir := openFolder(t)
	program := filepath.Join(dir, "host")
	// Not written by this process: a sibling that forks just then would hold it open, and it could not be run.
	if out, err := exec.CommandContext(t.Context(), "cp", os.Args[0], program).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + dir, runnerEnv + "=spy"}
	if os.Getuid() == 0 {
		const nobody = 65534
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if bytes.Contains(out, []byte("can read")) || strings.Count(string(out), "permission denied") != 2 {
		t.Errorf("the module says\n%s", out)
	}
}

// openFolder is a temporary folder for every user: those of testing are the owner's alone.
func openFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "runner-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}
