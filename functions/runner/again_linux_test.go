package runner_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// It is not parallel: a process may have left what another test orphans meanwhile, and is not used again then.
func TestOneWarmProcessServesOneJobAfterAnother(t *testing.T) {
	host := newRunner(t, 1)
	first := pid(t, host, runner.Limits{})
	for range 3 {
		if next := pid(t, host, runner.Limits{}); next != first {
			t.Errorf("process %d served after process %d", next, first)
		}
	}
}

// A process may be ended before its hundredth job, when it has grown, as it does under the race detector: what is wanted is
// that one serves a hundred, and no more.
func TestAProcessServesABoundedNumberOfJobs(t *testing.T) {
	t.Parallel()
	host := newRunner(t, 1)
	jobs := map[int]int{}
	for last := 0; jobs[last] < 100; {
		if last = pid(t, host, runner.Limits{}); len(jobs) > 20 {
			t.Fatalf("the processes served %v jobs", slices.Sorted(maps.Values(jobs)))
		}
		jobs[last]++
	}
	served := slices.MaxFunc(slices.Collect(maps.Keys(jobs)), func(a, b int) int { return jobs[a] - jobs[b] })
	if next := pid(t, host, runner.Limits{}); next == served {
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
			host := newRunner(t, 1)
			before := pid(t, host, runner.Limits{})
			a := assignment(t, do)
			file := filepath.Join(t.TempDir(), "pid")
			a.CustomConfig["file"] = file
			limits := map[string]runner.Limits{"leak": {MemoryBytes: 200 << 20}, "wait": {Timeout: 200 * time.Millisecond}}[do]
			_, err := host.Run(t.Context(), a, limits, nil)
			if clean := strings.HasPrefix(do, "fork") || do == "grow" || do == "done twice"; (err == nil) != clean {
				t.Errorf("error is %v", err)
			}
			if after := pid(t, host, runner.Limits{}); after == before {
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
	host := newRunner(t, 1)
	before := pid(t, host, runner.Limits{})
	ctx, cancel := context.WithCancel(t.Context())
	limits := runner.Limits{Grace: 2 * time.Minute}
	started := time.Now()
	if _, err := host.Run(ctx, assignment(t, "wait"), limits, func(module.Message) { cancel() }); err == nil {
		t.Error("a cancelled job succeeded")
	}
	if took := time.Since(started); took >= limits.Grace {
		t.Errorf("took %s: it did not leave by itself", took)
	}
	if after := pid(t, host, runner.Limits{}); after == before {
		t.Error("it served again")
	}
}

func TestAJobThatMayHaveLittleMemoryGetsAProcessThatHoldsLittle(t *testing.T) {
	t.Parallel()
	host := newRunner(t, 1)
	if _, err := host.Run(t.Context(), assignment(t, "grow somewhat"), runner.Limits{}, nil); err != nil {
		t.Fatal(err)
	}
	large := pid(t, host, runner.Limits{})
	if small := pid(t, host, runner.Limits{MemoryBytes: 150 << 20}); small == large {
		t.Error("it got the large one")
	}
}

func TestAProcessThatLeftWhileItWasIdleIsReplaced(t *testing.T) {
	t.Parallel()
	host := newRunner(t, 1)
	before := pid(t, host, runner.Limits{})
	if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for !hasLeft(before) {
		time.Sleep(time.Millisecond)
	}
	if after := pid(t, host, runner.Limits{}); after == before {
		t.Error("a dead process served")
	}
}

// hasLeft says whether all threads of a process have ended, and with them its hold on its pipes.
func hasLeft(pid int) bool {
	threads, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	return err != nil || len(threads) == 1 && isZombie(pid)
}

func TestTheResidentSizeOfAJobIsNotThatOfTheJobBefore(t *testing.T) {
	t.Parallel()
	host := newRunner(t, 1)
	grown, err := host.Run(t.Context(), assignment(t, "grow and shrink"), runner.Limits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	next, err := host.Run(t.Context(), assignment(t, "succeed"), runner.Limits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if next.MaxRSSBytes == 0 || next.MaxRSSBytes*3 > grown.MaxRSSBytes*2 { // the race detector's own memory is in both
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

// pid has a process tell its number. It also makes sure that nothing of an earlier job is to be seen: neither in its log nor in
// its home.
func pid(t *testing.T, host *runner.Runner, limits runner.Limits) int {
	t.Helper()
	return pidOf(t, host, "builtin:test", limits)
}

func pidOf(t *testing.T, host *runner.Runner, name string, limits runner.Limits) int {
	t.Helper()
	a, number := assignment(t, "tell pid"), 0
	a.Module.Path = name
	outcome, err := host.Run(t.Context(), a, limits, func(m module.Message) { number = m.Step })
	if err != nil {
		t.Fatal(err)
	}
	if want := "the working directory of " + strconv.Itoa(number) + " holds 0 files\n"; outcome.LogTail != want {
		t.Errorf("log is %q, want %q", outcome.LogTail, want)
	}
	return number
}
