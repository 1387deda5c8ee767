package runner_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// sessions are those that serve many assignments from one process.
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

// It is not parallel: a process may have left what another test orphans meanwhile, and is not used again then.
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

// It is not parallel: a process that may have left what another test orphans is ended after its first assignment, and there would be none
// to kill between the two.
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

// It is not parallel: a process may have left what another test orphans meanwhile, and is not used again then.
func TestAWarmProcessGoesBackWhenItsSessionIsClosed(t *testing.T) {
	host := newRunner(t, 1)
	s := open(t, host, "builtin:test")
	number := pidIn(t, s, "builtin:test")
	s.Close()
	if next := pid(t, host, runner.Limits{}); next != number {
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

// once is a module that serves one assignment and leaves, as the protocol allows.
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

func open(t *testing.T, host *runner.Runner, name string) *runner.Session {
	t.Helper()
	s, err := host.Open(t.Context(), module.Source{Path: name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// pidIn is pid in a session.
func pidIn(t *testing.T, s *runner.Session, name string) int {
	t.Helper()
	a, number := assignment(t, "tell pid"), 0
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
