package process

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// session says which session the process is in.
func session(string) error {
	own, err := unix.Getsid(0)
	if err != nil {
		return err
	}
	return fmt.Errorf("session %d of process %d", own, os.Getpid())
}

// In the worker's session a module could type into the terminal that the worker was started from.
func TestAModuleHasASessionOfItsOwn(t *testing.T) {
	t.Parallel()
	p, err := supervisorWith(t, nil).Start(Command{Line: []string{os.Args[0]}, Env: []string{tryEnv + "=session"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.End()
	if _, err := io.WriteString(p.Stdin, "\n"); err != nil {
		t.Fatal(err)
	}
	if err := p.Output.SetReadDeadline(time.Now().Add(time.Minute)); err != nil { // far off: so that a red test ends
		t.Fatal(err)
	}
	text, err := io.ReadAll(p.Output)
	if want := fmt.Sprintf("session %d of process %d\n", p.PID(), p.PID()); err != nil || string(text) != want {
		t.Errorf("it is in %q, want %q, error %v", text, want, err)
	}
	if group, err := syscall.Getpgid(p.PID()); err != nil || group != p.PID() {
		t.Errorf("it is in group %d, %v", group, err)
	}
}

// held is what a process has that holds memory.
const held = 64 << 20

// holdMemory has memory until it is killed.
func holdMemory(string) error {
	memory := make([]byte, held)
	for i := range memory {
		memory[i] = 1
	}
	fmt.Println("holds")
	time.Sleep(time.Hour)
	runtime.KeepAlive(memory)
	return nil
}

// A process that leaves the group, the session and its parent, and takes off its mark, holds memory on its job's behalf all the same.
func TestMemoryIsCountedOfAllThatAProcessHasStarted(t *testing.T) {
	for name, leave := range map[string]string{
		"in the group": "%s &", "in a session of its own": "setsid %s &", "an orphan with the mark": "setsid /bin/sh -c '%s &'",
		"an orphan without": "/usr/bin/env -i setsid /bin/sh -c '%s &'", "a child of an orphan": "/usr/bin/env -i setsid /bin/sh -c '(%s; :) &'",
	} {
		t.Run(name, func(t *testing.T) {
			supervisor := supervisorWith(t, nil)
			start := func(script string) *Process {
				p, err := supervisor.Start(Command{Line: []string{"/bin/sh", "-c", script + " read line"}, Env: []string{"PATH=/usr/bin:/bin"}})
				if err != nil {
					t.Fatal(err)
				}
				return p
			}
			before := start("")
			defer before.End()
			p := start(fmt.Sprintf("read line; "+leave, "/usr/bin/env "+tryEnv+"=memory "+os.Args[0]))
			defer p.End()
			p.SetBusy(true)
			if _, err := io.WriteString(p.Stdin, "\n"); err != nil {
				t.Fatal(err)
			}
			if err := p.Output.SetReadDeadline(time.Now().Add(time.Minute)); err != nil { // far off: so that a red test ends
				t.Fatal(err)
			}
			if _, err := io.ReadFull(p.Output, make([]byte, len("holds\n"))); err != nil {
				t.Fatal(err)
			}
			if got := p.GroupMemoryBytes(); got < held || got > 8*held { // under the race detector it takes several times as much
				t.Errorf("counted %d MiB, want those of the process that holds %d", got>>20, held>>20)
			}
			before.SetBusy(true) // after what holds the memory began
			if got := before.GroupMemoryBytes(); got > held/2 {
				t.Errorf("of another job are counted %d MiB", got>>20)
			}
		})
	}
}

func TestTheCPUTimeOfAGroupIsThatOfItsProcesses(t *testing.T) {
	t.Parallel()
	p := statOf(t, "7 (a ) b) S 1 42 42 0 -1 0 0 0 0 0 100 20 3 4 20 0 1 0 5 1000 250")
	for group, want := range map[int]time.Duration{42: 1270 * time.Millisecond, 43: 0} {
		if got := cpuIfIn(group, p); got != want {
			t.Errorf("group %d: %s, want %s", group, got, want)
		}
	}
}

func TestAProcessIsReadBehindItsName(t *testing.T) {
	t.Parallel()
	p := statOf(t, "7 (a) Z 1 2) R 3 42 42 0 -1 4194560 100 0 0 0 1 1 0 0 20 0 1 0 1234 1000000 256")
	if p.zombie() || p.headless() || p.parent() != 3 || p.group() != 42 || p.began() != 1234 || p.ofKernel() {
		t.Errorf("zombie %t, parent %d, group %d, began %d, of the kernel %t", p.zombie(), p.parent(), p.group(), p.began(), p.ofKernel())
	}
	if p := statOf(t, "8 (kworker/0:1) Z 2 0 0 0 -1 69238880 0"); !p.zombie() || !p.ofKernel() || p.field(4000) != 0 {
		t.Errorf("zombie %t, of the kernel %t, a field that isn't there %d", p.zombie(), p.ofKernel(), p.field(4000))
	}
	const threads = "9 (a) Z 1 42 42 0 -1 4194560 100 0 0 0 1 1 0 0 20 0 2 0 1234 0 0"
	if p := statOf(t, threads); p.zombie() || !p.headless() {
		t.Error("a process whose first thread has exited before another one is taken for one that has ended")
	}
	for _, text := range []string{"", "7", "7 (a)", ")"} {
		if _, ok := newProcessStat(7, []byte(text)); ok {
			t.Errorf("%q is read", text)
		}
	}
}

func statOf(t *testing.T, text string) processStat {
	t.Helper()
	p, ok := newProcessStat(7, []byte(text))
	if !ok {
		t.Fatalf("%q is not read", text)
	}
	return p
}
