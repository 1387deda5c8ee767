package runner_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/runner/process"
)

// These tests have the real kernel limit memory, by version 1 or 2, whichever the machine has. They skip, and say so, where this
// user may make no cgroup.

func TestTheKernelEndsAModuleOverItsMemory(t *testing.T) {
	t.Parallel()
	host, _ := fencedRunner(t, 1)
	for _, do := range []string{"leak", "leak in a child"} {
		_, err := host.Run(t.Context(), assignment(t, do), bound(100<<20), nil)
		failed := asError(t, err)
		const want = "module builtin:test: used 100.0 MiB of memory and asked for more, 100.0 MiB allowed"
		if failed.Kind != runner.KindResources || failed.Error() != want {
			t.Errorf("%s: %s: %s, want resources: %s", do, failed.Kind, failed, want)
		}
	}
}

// It is not parallel: a process may have left what another test orphans meanwhile, and is not used again then.
func TestAWarmProcessHasTheLimitOfEachJobAnew(t *testing.T) {
	host, _ := fencedRunner(t, 1)
	served := pid(t, host, bound(100<<20))
	if _, err := host.Run(t.Context(), assignment(t, "grow and shrink"), runner.Limits{}, nil); err != nil {
		t.Errorf("it has the limit of the job before: %v", err)
	}
	if next := pid(t, host, runner.Limits{}); next != served {
		t.Fatalf("process %d served after process %d", next, served)
	}
	_, err := host.Run(t.Context(), assignment(t, "grow and shrink"), bound(100<<20), nil)
	if failed := asError(t, err); failed.Kind != runner.KindResources {
		t.Errorf("%s: %s", failed.Kind, failed)
	}
}

func TestTheLimitOfACgroupAroundItIsNotTheModulesOwn(t *testing.T) {
	t.Parallel()
	host, parent := fencedRunner(t, 0)
	if errors.Join(limitOf(parent, "memory.limit_in_bytes"), limitOf(parent, "memory.max")) == nil {
		t.Fatal("a cgroup of both versions")
	}
	_, err := host.Run(t.Context(), assignment(t, "leak"), bound(1<<30), nil)
	if failed := asError(t, err); failed.Kind != runner.KindCrash || !strings.Contains(failed.Error(), "perhaps because memory ran out") {
		t.Errorf("%s: %s", failed.Kind, failed)
	}
}

func limitOf(dir, name string) error {
	file, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(strconv.Itoa(100 << 20))
	return errors.Join(err, file.Close())
}

func TestAProcessThatTookOffItsMarkDoesNotOutliveItsCgroup(t *testing.T) {
	t.Parallel()
	host, parent := fencedRunner(t, 1)
	a := assignment(t, "fork away unmarked")
	file := filepath.Join(t.TempDir(), "pid")
	a.CustomConfig["file"] = file
	before := pid(t, host, runner.Limits{})
	if _, err := host.Run(t.Context(), a, runner.Limits{}, nil); err != nil {
		t.Fatal(err)
	}
	waitUntilGone(t, file)
	if after := pid(t, host, runner.Limits{}); after == before {
		t.Error("a process that left another one running served again")
	}
	host.Close()
	if left := folders(t, parent); len(left) != 0 {
		t.Errorf("cgroups %q are left", left)
	}
}

func TestTheCgroupsOfAKilledHostAreEnded(t *testing.T) {
	parent := cgroupForTest(t)
	t.Setenv("STOKER_CGROUP", parent)
	t.Setenv("TMPDIR", t.TempDir())
	file := filepath.Join(t.TempDir(), "pid")
	host := startRunner(t, "fork away unmarked and wait", file)
	lost := folders(t, parent)
	kill(host)
	if pid := readPID(t, file); syscall.Kill(pid, 0) != nil || isZombie(pid) {
		t.Errorf("process %d was gone with its host", pid)
	}

	next, err := runner.New(runner.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	waitUntilGone(t, file)
	if now := folders(t, parent); len(lost) != 1 || len(now) != 1 || now[0] == lost[0] {
		t.Errorf("cgroups were %q and are %q", lost, now)
	}
}

// bound is a memory limit, and a time limit so that a red test ends.
func bound(memory int64) runner.Limits {
	return runner.Limits{MemoryBytes: memory, Timeout: 20 * time.Second}
}

// fencedRunner is newRunner with a cgroup of its own.
func fencedRunner(t *testing.T, warm int) (*runner.Runner, string) {
	t.Helper()
	parent := cgroupForTest(t)
	host, err := runner.New(runner.Options{
		Builtins: map[string]string{"test": "builtin:test@1"}, Env: []string{childEnv + "=1"}, Warm: warm, Cgroup: parent,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	return host, parent
}

// cgroupForTest makes a cgroup right below a mounted hierarchy that has the memory controller.
func cgroupForTest(t *testing.T) string {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mounts") // device, folder, type, options
	if err != nil {
		t.Skip("no cgroup can be made: ", err)
	}
	reason := "no hierarchy is mounted that has the memory controller"
	for line := range bytes.Lines(mounts) {
		fields := strings.Fields(string(line))
		v1 := fields[2] == "cgroup" && slices.Contains(strings.Split(fields[3], ","), "memory")
		v2 := fields[2] == "cgroup2" && handsMemoryOn(fields[1])
		if !v1 && !v2 {
			continue
		}
		dir, err := os.MkdirTemp(fields[1], "stoker-test-")
		if err != nil {
			reason = err.Error()
			continue
		}
		t.Cleanup(func() { removeCgroup(t, dir) })
		return dir
	}
	t.Skip("no cgroup can be made: ", reason)
	return ""
}

func handsMemoryOn(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
	return err == nil && slices.Contains(strings.Fields(string(text)), "memory")
}

// removeCgroup waits a little: a process that was killed is in it until it was waited for.
func removeCgroup(t *testing.T, dir string) {
	t.Helper()
	var err error
	for range 100 {
		if err = os.Remove(dir); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%v; it holds %q", err, folders(t, dir))
}

func folders(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	return names
}

// Landlock keeps a module from the files of its cgroup. Without it a module that lifts its limit is ended.
func TestAModuleDoesNotLiftItsOwnLimit(t *testing.T) {
	for _, how := range []string{"auto", "off"} {
		t.Run(how, func(t *testing.T) {
			t.Setenv(process.SandboxEnv, how)
			host, parent := fencedRunner(t, 0)
			a := assignment(t, "lift limit")
			a.Module.Path, a.CustomConfig["file"] = os.Args[0], parent
			outcome, err := host.Run(t.Context(), a, bound(1<<30), nil)
			if how == "auto" && process.CanSandbox() == nil {
				if err != nil || strings.Contains(outcome.LogTail, "succeeds") || !strings.Contains(outcome.LogTail, "lift fails") {
					t.Errorf("it says %q, error %v", outcome.LogTail, err)
				}
				return
			}
			failed, ok := errors.AsType[*runner.Error](err)
			if !ok || failed.Kind != runner.KindResources || !strings.Contains(failed.Error(), "and lifted its limit, 1.0 GiB allowed") {
				t.Errorf("it says %q, error %v, want that it is ended for its memory", outcome.LogTail, err)
			}
		})
	}
}
