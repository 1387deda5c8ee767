package runner_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/runner/process"
)

// This test is not parallel: a process that may have left what another test orphans meanwhile is
// not used again.
func TestOneWarmProcessServesOneJobAfterAnother(t *testing.T) {
	r := newRunner(t, 1)
	first := pid(t, r, runner.Limits{})
	for range 3 {
		if next := pid(t, r, runner.Limits{}); next != first {
			t.Errorf("process %d served after process %d", next, first)
		}
	}
}

// A process may be ended before its hundredth job if it has grown, as it does under the race
// detector. The test requires that one serves a hundred, and no more.
func TestAProcessServesABoundedNumberOfJobs(t *testing.T) {
	t.Parallel()
	r := newRunner(t, 1)
	jobs := map[int]int{}
	for last := 0; jobs[last] < 100; {
		if last = pid(t, r, runner.Limits{}); len(jobs) > 20 {
			t.Fatalf("the processes served %v jobs", slices.Sorted(maps.Values(jobs)))
		}
		jobs[last]++
	}
	served := slices.MaxFunc(slices.Collect(maps.Keys(jobs)), func(a, b int) int { return jobs[a] - jobs[b] })
	if next := pid(t, r, runner.Limits{}); next == served {
		t.Errorf("process %d served more than 100 jobs", served)
	}
}

func TestAProcessThatDidNotEndCleanlyServesNoOtherJob(t *testing.T) {
	t.Parallel()
	for _, do := range []string{
		"raise", "bad input", "panic", "killed", "leak", "wait", "fork", "fork away", "done twice", "grow", "exit 0",
	} {
		t.Run(do, func(t *testing.T) {
			t.Parallel()
			r := newRunner(t, 1)
			before := pid(t, r, runner.Limits{})
			a := assignment(t, do)
			file := filepath.Join(t.TempDir(), "pid")
			a.CustomConfig["file"] = file
			limits := map[string]runner.Limits{"leak": {MemoryBytes: 200 << 20}, "wait": {Timeout: 200 * time.Millisecond}}[do]
			_, err := r.Run(t.Context(), a, limits, nil)
			if clean := strings.HasPrefix(do, "fork") || do == "grow" || do == "done twice"; (err == nil) != clean {
				t.Errorf("error is %v", err)
			}
			if after := pid(t, r, runner.Limits{}); after == before {
				t.Error("it served again")
			}
			if strings.HasPrefix(do, "fork") {
				waitUntilGone(t, file)
			}
		})
	}
}

func TestACancelledJobTakesItsWarmProcessWithIt(t *testing.T) {
	t.Parallel()
	r := newRunner(t, 1)
	before := pid(t, r, runner.Limits{})
	ctx, cancel := context.WithCancel(t.Context())
	limits := runner.Limits{Grace: 2 * time.Minute}
	started := time.Now()
	if _, err := r.Run(ctx, assignment(t, "wait"), limits, func(module.Message) { cancel() }); err == nil {
		t.Error("a cancelled job succeeded")
	}
	if took := time.Since(started); took >= limits.Grace {
		t.Errorf("took %s: it did not leave by itself", took)
	}
	if after := pid(t, r, runner.Limits{}); after == before {
		t.Error("it served again")
	}
}

func TestAJobThatMayHaveLittleMemoryGetsAProcessThatHoldsLittle(t *testing.T) {
	t.Parallel()
	r := newRunner(t, 1)
	if _, err := r.Run(t.Context(), assignment(t, "grow somewhat"), runner.Limits{}, nil); err != nil {
		t.Fatal(err)
	}
	large := pid(t, r, runner.Limits{})
	if small := pid(t, r, runner.Limits{MemoryBytes: 150 << 20}); small == large {
		t.Error("it got the large one")
	}
}

func TestAProcessThatLeftWhileItWasIdleIsReplaced(t *testing.T) {
	t.Parallel()
	r := newRunner(t, 1)
	before := pid(t, r, runner.Limits{})
	if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for !hasLeft(before) {
		time.Sleep(time.Millisecond)
	}
	if after := pid(t, r, runner.Limits{}); after == before {
		t.Error("a dead process served")
	}
}

// hasLeft reports whether all threads of a process have ended, and have closed its pipes.
func hasLeft(pid int) bool {
	threads, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	return err != nil || len(threads) == 1 && isZombie(pid)
}

func TestTheResidentSizeOfAJobIsNotThatOfTheJobBefore(t *testing.T) {
	t.Parallel()
	r := newRunner(t, 1)
	grown, err := r.Run(t.Context(), assignment(t, "grow and shrink"), runner.Limits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	next, err := r.Run(t.Context(), assignment(t, "succeed"), runner.Limits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	// Both include the race detector's own memory.
	if next.MaxRSSBytes == 0 || next.MaxRSSBytes*3 > grown.MaxRSSBytes*2 {
		t.Errorf("%d bytes and then %d", grown.MaxRSSBytes, next.MaxRSSBytes)
	}
}

func TestWithoutWarmProcessesAndForModulesOfOthersEachJobHasItsOwn(t *testing.T) {
	t.Parallel()
	cold := newRunner(t, 0)
	if first, second := pid(t, cold, runner.Limits{}), pid(t, cold, runner.Limits{}); first == second {
		t.Error("a host without warm processes used one twice")
	}
	warm := newRunner(t, 1)
	first, second := pidOf(t, warm, os.Args[0], runner.Limits{}), pidOf(t, warm, os.Args[0], runner.Limits{})
	if first == second {
		t.Error("a process of someone's own module served twice")
	}
}

// pid has a process report its process id. It also checks that nothing of an earlier job is visible
// in its log and in its home.
func pid(t *testing.T, r *runner.Runner, limits runner.Limits) int {
	t.Helper()
	return pidOf(t, r, "builtin:test", limits)
}

func pidOf(t *testing.T, r *runner.Runner, name string, limits runner.Limits) int {
	t.Helper()
	a, number := assignment(t, "report pid"), 0
	a.Module.Path = name
	outcome, err := r.Run(t.Context(), a, limits, func(m module.Message) { number = m.Step })
	if err != nil {
		t.Fatal(err)
	}
	if want := "the working directory of " + strconv.Itoa(number) + " holds 0 files\n"; outcome.LogTail != want {
		t.Errorf("log is %q, want %q", outcome.LogTail, want)
	}
	return number
}

func TestWhatTheModulesOfAKilledHostLeftBehindIsEnded(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	file := filepath.Join(t.TempDir(), "pid")
	r := startRunner(t, "fork away and wait", file)
	kill(r)
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

// The superuser may read everything: if run as root, the worker of this test runs as nobody.
func TestAModuleCanNotReadItsWorkersEnvironmentAndMemory(t *testing.T) {
	t.Parallel()
	dir := openFolder(t)
	program := filepath.Join(dir, "host")
	// Not written by this process: otherwise a child that another test forks at that moment would
	// hold it open, and it could not be run.
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

// openFolder returns a temporary directory that all users can access; package testing's belong to
// the owner alone.
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

// Without a cgroup, and with a process that has removed its mark and left its session and its
// parent. This test is not parallel: the process may be attributed to any job that ran at the same
// time, and then lives as long as that one.
func TestAProcessThatHidesItsOriginEndsWithItsJob(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	a := assignment(t, "fork away unmarked")
	a.CustomConfig["file"] = file
	if _, err := newRunner(t, 0).Run(t.Context(), a, runner.Limits{}, nil); err != nil {
		t.Fatal(err)
	}
	waitUntilGone(t, file)
}

// These tests have the real kernel limit memory, by version 1 or 2, whichever the machine has. They
// skip, and say so, if this user may not make a cgroup.

func TestTheKernelEndsAModuleOverItsMemory(t *testing.T) {
	t.Parallel()
	r, _ := fencedRunner(t, 1)
	for _, do := range []string{"leak", "leak in a child"} {
		_, err := r.Run(t.Context(), assignment(t, do), bound(100<<20), nil)
		failed := asError(t, err)
		const want = "module builtin:test: used 100.0 MiB of memory and requested more, 100.0 MiB allowed"
		if failed.Kind != runner.KindResources || failed.Error() != want {
			t.Errorf("%s: %s: %s, want resources: %s", do, failed.Kind, failed, want)
		}
	}
}

// This test is not parallel: a process that may have left what another test orphans meanwhile is
// not used again.
func TestAWarmProcessHasTheLimitOfEachJobAnew(t *testing.T) {
	r, _ := fencedRunner(t, 1)
	served := pid(t, r, bound(100<<20))
	if _, err := r.Run(t.Context(), assignment(t, "grow and shrink"), runner.Limits{}, nil); err != nil {
		t.Errorf("it has the limit of the job before: %v", err)
	}
	if next := pid(t, r, runner.Limits{}); next != served {
		t.Fatalf("process %d served after process %d", next, served)
	}
	_, err := r.Run(t.Context(), assignment(t, "grow and shrink"), bound(100<<20), nil)
	if failed := asError(t, err); failed.Kind != runner.KindResources {
		t.Errorf("%s: %s", failed.Kind, failed)
	}
}

func TestTheLimitOfACgroupAroundItIsNotTheModulesOwn(t *testing.T) {
	t.Parallel()
	r, parent := fencedRunner(t, 0)
	if errors.Join(limitOf(parent, "memory.limit_in_bytes"), limitOf(parent, "memory.max")) == nil {
		t.Fatal("a cgroup of both versions")
	}
	_, err := r.Run(t.Context(), assignment(t, "leak"), bound(1<<30), nil)
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
	r, parent := fencedRunner(t, 1)
	a := assignment(t, "fork away unmarked")
	file := filepath.Join(t.TempDir(), "pid")
	a.CustomConfig["file"] = file
	before := pid(t, r, runner.Limits{})
	if _, err := r.Run(t.Context(), a, runner.Limits{}, nil); err != nil {
		t.Fatal(err)
	}
	waitUntilGone(t, file)
	if after := pid(t, r, runner.Limits{}); after == before {
		t.Error("a process that left another one running served again")
	}
	r.Close()
	if left := folders(t, parent); len(left) != 0 {
		t.Errorf("cgroups %q are left", left)
	}
}

func TestTheCgroupsOfAKilledHostAreEnded(t *testing.T) {
	parent := cgroupForTest(t)
	t.Setenv("STOKER_CGROUP", parent)
	t.Setenv("TMPDIR", t.TempDir())
	file := filepath.Join(t.TempDir(), "pid")
	r := startRunner(t, "fork away unmarked and wait", file)
	lost := folders(t, parent)
	kill(r)
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

// bound returns a memory limit, and a time limit that ends a failing test.
func bound(memory int64) runner.Limits {
	return runner.Limits{MemoryBytes: memory, Timeout: 20 * time.Second}
}

// fencedRunner is newRunner with a cgroup of its own.
func fencedRunner(t *testing.T, warm int) (*runner.Runner, string) {
	t.Helper()
	parent := cgroupForTest(t)
	r, err := runner.New(runner.Options{
		Builtins: map[string]string{"test": "builtin:test@1"}, Env: []string{childEnv + "=1"}, Warm: warm, Cgroup: parent,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r, parent
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

// removeCgroup waits a little, because a process that was killed is in the cgroup until it was
// waited for.
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

// Landlock denies a module access to the files of its cgroup. Without Landlock a module that lifts
// its limit is ended.
func TestAModuleDoesNotLiftItsOwnLimit(t *testing.T) {
	for _, how := range []string{"auto", "off"} {
		t.Run(how, func(t *testing.T) {
			t.Setenv(process.SandboxEnv, how)
			r, parent := fencedRunner(t, 0)
			a := assignment(t, "lift limit")
			a.Module.Path, a.CustomConfig["file"] = os.Args[0], parent
			outcome, err := r.Run(t.Context(), a, bound(1<<30), nil)
			if how == "auto" && process.CanSandbox() == nil {
				if err != nil || strings.Contains(outcome.LogTail, "succeeds") || !strings.Contains(outcome.LogTail, "lift fails") {
					t.Errorf("it says %q, error %v", outcome.LogTail, err)
				}
				return
			}
			failed, ok := errors.AsType[*runner.Error](err)
			if !ok || failed.Kind != runner.KindResources || !strings.Contains(failed.Error(), "and changed its limit, 1.0 GiB allowed") {
				t.Errorf("it says %q, error %v, want that it is ended for its memory", outcome.LogTail, err)
			}
		})
	}
}

// raidParent tries to signal the parent of this process, and to set its limits and its priority to
// their present values.
func raidParent() {
	parent := os.Getppid()
	fmt.Println("look for parent", succeeds(syscall.Kill(parent, 0)))
	// A signal that every program ignores.
	fmt.Println("signal parent", succeeds(syscall.Kill(parent, syscall.SIGURG)))
	var limit unix.Rlimit
	err := unix.Prlimit(parent, unix.RLIMIT_NOFILE, nil, &limit)
	if err == nil {
		err = unix.Prlimit(parent, unix.RLIMIT_NOFILE, &limit, nil)
	}
	fmt.Println("limit parent", succeeds(err))
	nice, err := unix.Getpriority(unix.PRIO_PROCESS, parent) // as the kernel counts it: 20 is 0
	if err == nil {
		err = unix.Setpriority(unix.PRIO_PROCESS, parent, 20-nice)
	}
	fmt.Println("slow down parent", succeeds(err))
}

// sessions runs a test for each kind of session that serves many assignments in one process.
func sessions(t *testing.T, test func(t *testing.T, s *runner.Session, name string)) {
	t.Helper()
	for what, module := range map[string]struct {
		name string
		warm int
	}{"builtin": {"builtin:test", 0}, "warm builtin": {"builtin:test", 1}, "binary": {os.Args[0], 0}} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			test(t, open(t, newRunner(t, module.warm), module.name), module.name)
		})
	}
}

// This test is not parallel: a process that may have left what another test orphans meanwhile is
// not used again.
func TestOneProcessServesASession(t *testing.T) {
	sessions(t, func(t *testing.T, s *runner.Session, name string) {
		first := pidIn(t, s, name)
		for range 3 {
			if next := pidIn(t, s, name); next != first {
				t.Errorf("process %d served after process %d", next, first)
			}
		}
	})
}

func TestAProcessOfASessionThatFailedIsReplaced(t *testing.T) {
	t.Parallel()
	for _, do := range []string{"raise", "panic", "killed", "leak", "wait", "done twice"} {
		t.Run(do, func(t *testing.T) {
			t.Parallel()
			sessions(t, func(t *testing.T, s *runner.Session, name string) {
				before := pidIn(t, s, name)
				a := assignment(t, do)
				a.Module.Path = name
				limits := map[string]runner.Limits{"leak": {MemoryBytes: 200 << 20}, "wait": {Timeout: 200 * time.Millisecond}}[do]
				_, err := s.Run(t.Context(), a, limits, nil)
				if clean := do == "done twice"; (err == nil) != clean {
					t.Errorf("error is %v", err)
				}
				if after := pidIn(t, s, name); after == before {
					t.Error("it served again")
				}
			})
		})
	}
}

func TestAProcessOfASessionThatLeavesOthersRunningIsEndedWithThem(t *testing.T) {
	t.Parallel()
	for _, do := range []string{"fork", "fork away"} {
		t.Run(do, func(t *testing.T) {
			t.Parallel()
			sessions(t, func(t *testing.T, s *runner.Session, name string) {
				a, file := assignment(t, do), filepath.Join(t.TempDir(), "pid")
				a.Module.Path = name
				a.CustomConfig["file"] = file
				if _, err := s.Run(t.Context(), a, runner.Limits{}, nil); err != nil {
					t.Fatal(err)
				}
				waitUntilGone(t, file)
			})
		})
	}
}

// This test is not parallel: a process that may have left what another test orphans is ended after
// its first assignment, and there would be none to kill between the two.
func TestAProcessThatDiedBetweenTwoAssignmentsIsReplaced(t *testing.T) {
	sessions(t, func(t *testing.T, s *runner.Session, name string) {
		before := pidIn(t, s, name)
		if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		for !hasLeft(before) {
			time.Sleep(time.Millisecond)
		}
		if after := pidIn(t, s, name); after == before {
			t.Error("a dead process served")
		}
	})
}

func TestAClosedSessionLeavesNoProcessOfItsModule(t *testing.T) {
	t.Parallel()
	s := open(t, newRunner(t, 1), os.Args[0])
	number := pidIn(t, s, os.Args[0])
	s.Close()
	if err := syscall.Kill(number, 0); err == nil {
		t.Errorf("process %d goes on", number)
	}
}

// This test is not parallel: a process that may have left what another test orphans meanwhile is
// not used again.
func TestAWarmProcessGoesBackWhenItsSessionIsClosed(t *testing.T) {
	r := newRunner(t, 1)
	s := open(t, r, "builtin:test")
	number := pidIn(t, s, "builtin:test")
	s.Close()
	if next := pid(t, r, runner.Limits{}); next != number {
		t.Errorf("process %d served after process %d", next, number)
	}
}

func TestACancelledAssignmentOfASessionIsStopped(t *testing.T) {
	t.Parallel()
	s := open(t, newRunner(t, 0), os.Args[0])
	ctx, cancel := context.WithCancel(t.Context())
	a := assignment(t, "wait")
	a.Module.Path = os.Args[0]
	_, err := s.Run(ctx, a, runner.Limits{}, func(module.Message) { cancel() })
	if failed := asError(t, err); failed.Kind != runner.KindStopped {
		t.Errorf("%s: %v", failed.Kind, err)
	}
}

// once is a module that serves one assignment and exits, as the protocol allows.
const once = `#!/bin/sh
read -r assignment
echo '{"type":"progress","step":'$$'}' >&3
echo '{"type":"done"}' >&3
`

func TestAModuleThatServesOneAssignmentIsStartedForEach(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "once")
	if err := os.WriteFile(path, []byte(once), 0o700); err != nil {
		t.Fatal(err)
	}
	s := open(t, newRunner(t, 0), path)
	served := map[int]bool{}
	for range 20 {
		a := assignment(t, "")
		a.Module.Path = path
		if _, err := s.Run(t.Context(), a, runner.Limits{}, func(m module.Message) { served[m.Step] = true }); err != nil {
			t.Fatal(err)
		}
	}
	if len(served) != 20 {
		t.Errorf("%d processes served 20 assignments", len(served))
	}
}

func TestASessionIsForOneModule(t *testing.T) {
	t.Parallel()
	s := open(t, newRunner(t, 0), os.Args[0])
	_, err := s.Run(t.Context(), assignment(t, "succeed"), runner.Limits{}, nil)
	if err == nil || !strings.Contains(err.Error(), "module builtin:test in a session of module "+os.Args[0]) {
		t.Errorf("error is %v", err)
	}
	if _, err := newRunner(t, 0).Open(t.Context(), module.Source{Path: "builtin:nobody"}); err == nil {
		t.Error("a session of no module")
	}
}

func open(t *testing.T, r *runner.Runner, name string) *runner.Session {
	t.Helper()
	s, err := r.Open(t.Context(), module.Source{Path: name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// pidIn is pid in a session.
func pidIn(t *testing.T, s *runner.Session, name string) int {
	t.Helper()
	a, number := assignment(t, "report pid"), 0
	a.Module.Path = name
	outcome, err := s.Run(t.Context(), a, runner.Limits{}, func(m module.Message) { number = m.Step })
	if err != nil {
		t.Fatal(err)
	}
	if want := "the working directory of " + strconv.Itoa(number) + " holds 0 files\n"; outcome.LogTail != want {
		t.Errorf("log is %q, want %q", outcome.LogTail, want)
	}
	return number
}
