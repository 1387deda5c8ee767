package process

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestAMarkIsThatOfOneHomeOrOfThoseBelowIt(t *testing.T) {
	t.Parallel()
	const home = "/tmp/scratch/module-1"
	for environ, want := range map[string]bool{
		"A=b\x00STOKER_MODULE=/tmp/scratch/module-1\x00C=d\x00": true,
		"STOKER_MODULE=/tmp/scratch/module-1":                   true,
		"STOKER_MODULE=/tmp/scratch/module-1/inner\x00":         true,
		"STOKER_MODULE=/tmp/scratch/module-12\x00":              false,
		"STOKER_MODULE=/tmp/scratch\x00":                        false,
		"STOKER_MODULE=\x00":                                    false,
		"HOME=/tmp/scratch/module-1\x00":                        false,
		"X=STOKER_MODULE=/tmp/scratch/module-1\x00":             false,
		"": false,
	} {
		if got := hasMark([]byte(environ), home); got != want {
			t.Errorf("%q: %v, want %v", environ, got, want)
		}
	}
}

// The search runs for every job, so it may take only a small part of the time that a process takes
// to start.
func BenchmarkFindStrays(b *testing.B) {
	home := strings.Repeat("/none", 3)
	for b.Loop() {
		endStrays(home)
	}
}

// session prints the session of this process.
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
	// Far off: so that a red test ends.
	if err := p.Output.SetReadDeadline(time.Now().Add(8 * time.Minute)); err != nil {
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

// held is how many bytes a process holds that holds memory.
const held = 64 << 20

// holdMemory holds memory until it is killed.
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

// A process that leaves the group, the session and its parent, and removes its mark, still counts
// as part of its job.
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
			// Far off: so that a red test ends.
			if err := p.Output.SetReadDeadline(time.Now().Add(8 * time.Minute)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(p.Output, make([]byte, len("holds\n"))); err != nil {
				t.Fatal(err)
			}
			// Under the race detector it takes several times as much.
			if got := p.GroupMemoryBytes(); got < held || got > 8*held {
				t.Errorf("counted %d MiB, want those of the process that holds %d", got>>20, held>>20)
			}
			before.SetBusy(true) // after the process began that holds the memory
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

// leavesOrphan starts a process that has no mark, a session of its own, and a parent that has
// ended.
const leavesOrphan = "read line; /usr/bin/env -i /bin/sh -c 'setsid sh -c \"sleep 600 & echo \\$!\"'; read line"

// Tests of orphans run one after another: those of one may be taken for those of any process that
// is busy at the same time.

func TestAProcessWithoutAMarkEndsWithItsJobWithoutACgroup(t *testing.T) {
	p, orphan := orphaned(t)
	p.End()
	if lives(orphan) {
		t.Errorf("process %d outlives its job", orphan)
	}
}

// A process without a mark may belong to any job that ran when it began.
func TestTheProcessesOfAnotherJobGoOn(t *testing.T) {
	first, of1 := orphaned(t)
	second, of2 := orphaned(t)
	second.End()
	if !lives(of1) {
		t.Errorf("process %d of a job that goes on has ended", of1)
	}
	first.End()
	for _, pid := range []int{of1, of2} {
		if lives(pid) {
			t.Errorf("process %d outlives all jobs", pid)
		}
	}
}

// An orphan that has ended does not stay a zombie of this process, its new parent.
func TestOrphansThatHaveEndedAreWaitedFor(t *testing.T) {
	p, orphan := orphaned(t)
	if err := syscall.Kill(orphan, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.End()
	for range 500 {
		if _, err := os.Stat("/proc/" + strconv.Itoa(orphan)); err != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %d is still there", orphan)
}

// Other children of this process are not touched.
func TestChildrenThatAreNoModulesAreLeftAlone(t *testing.T) {
	other, err := os.StartProcess("/bin/sleep", []string{"sleep", "600"}, &os.ProcAttr{})
	if err != nil {
		t.Fatal(err)
	}
	p, _ := orphaned(t)
	p.End()
	if !lives(other.Pid) {
		t.Error("it was ended")
	}
	if err := other.Kill(); err != nil {
		t.Error(err)
	}
	if state, err := other.Wait(); err != nil || state.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("it ended with %v, %v", state, err)
	}
}

// orphaned starts a busy process that has left an orphan.
func orphaned(t *testing.T) (p *Process, orphan int) {
	t.Helper()
	supervisor := supervisorWith(t, nil)
	p, err := supervisor.Start(Command{Line: []string{"/bin/sh", "-c", leavesOrphan}, Env: []string{"PATH=/usr/bin:/bin"}})
	if err != nil {
		t.Fatal(err)
	}
	p.SetBusy(true)
	if _, err := io.WriteString(p.Stdin, "\n"); err != nil {
		t.Fatal(err)
	}
	return p, orphanOf(t, p)
}

// orphanOf waits until this process is the parent of a process's orphan.
func orphanOf(t *testing.T, p *Process) int {
	t.Helper()
	// Far off: so that a red test ends.
	if err := p.Output.SetReadDeadline(time.Now().Add(8 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(io.LimitReader(p.Output, 20)).ReadString('\n')
	if err != nil {
		t.Fatal(line, err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func lives(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func TestWhatThisProcessHasOpenReachesNoModule(t *testing.T) {
	t.Parallel()
	// As a parent that doesn't use O_CLOEXEC leaves it.
	secret, err := syscall.Open("/etc/passwd", syscall.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(secret)
	p, err := supervisorWith(t, nil).Start(Command{Line: []string{"/bin/sh", "-c", "for fd in /proc/self/fd/*; do readlink $fd; done; :"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.End()
	if err := p.Output.SetReadDeadline(time.Now().Add(8 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(p.Output)
	if err != nil || strings.Contains(string(text), "/etc/passwd") || strings.Count(string(text), "pipe:") != 4 {
		t.Errorf("it has open\n%s, %v", text, err)
	}
}

// Processes that a command leaves running end with it: in its group, in a session of their own, and
// without its mark and its parent.
func TestACommandEndsWithAllThatItStarted(t *testing.T) {
	for name, leave := range map[string]string{
		"in the group": "%s &", "in a session of its own": "setsid %s &", "without mark and parent": "/usr/bin/env -i /bin/sh -c 'setsid %s &'",
	} {
		t.Run(name, func(t *testing.T) {
			pid := filepath.Join(t.TempDir(), "pid")
			script := fmt.Sprintf(leave, `/bin/sh -c "echo \$\$ >`+pid+`; exec sleep 600"`) + "\nuntil test -s " + pid + "; do :; done"
			cmd := exec.Command("/bin/sh", "-c", script)
			cmd.Env = []string{"PATH=/usr/bin:/bin"}
			if err := Run(cmd, t.TempDir(), Bounds{}); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(pid)
			if err != nil {
				t.Fatal(err)
			}
			left, err := strconv.Atoi(strings.TrimSpace(string(text)))
			if err != nil {
				t.Fatal(err)
			}
			if lives(left) {
				t.Errorf("process %d outlives its command", left)
				_ = syscall.Kill(left, syscall.SIGKILL)
			}
		})
	}
}

// A foreign command in the session of this process could type into its terminal.
func TestACommandHasASessionOfItsOwn(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stdin = []string{tryEnv + "=session"}, strings.NewReader("\n")
	var text bytes.Buffer
	cmd.Stdout = &text
	if err := Run(cmd, t.TempDir(), Bounds{}); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("session %[1]d of process %[1]d\n", cmd.Process.Pid); text.String() != want {
		t.Errorf("it is in %q, want %q", text.String(), want)
	}
}

// headlessEnv names the file to which this test binary writes from a second thread, after its first
// one has exited.
const headlessEnv = "STOKER_TEST_HEADLESS"

func init() { // runs on the first thread
	path := os.Getenv(headlessEnv)
	if path == "" || unix.Gettid() != os.Getpid() {
		return
	}
	go func() {
		runtime.LockOSThread()
		for fd, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_CREAT, 0o600); err == nil; time.Sleep(5 * time.Millisecond) {
			_, err = syscall.Write(fd, []byte("."))
		}
	}()
	for { // until the other thread works
		if info, err := os.Stat(path); err == nil && info.Size() > 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	_, _, _ = syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0)
}

// A process of which only the first thread has exited is not a zombie, whatever its state says.
func TestAProcessWhoseFirstThreadHasExitedEndsWithItsJob(t *testing.T) {
	for name, keep := range map[string]string{"without its mark": "/usr/bin/env -i ", "with its mark": ""} {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir() + "/written"
			script := fmt.Sprintf("read line; %ssetsid /bin/sh -c '%s=%s \"%s\" & echo $!'; read line", keep, headlessEnv, path, os.Args[0])
			p, err := supervisorWith(t, nil).Start(Command{Line: []string{"/bin/sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"}})
			if err != nil {
				t.Fatal(err)
			}
			p.SetBusy(true)
			if _, err := p.Stdin.WriteString("\n"); err != nil {
				t.Fatal(err)
			}
			pid := orphanOf(t, p)
			awaitHeadless(t, pid)
			if p.Alone() {
				t.Error("the process is not seen")
			}
			p.End()
			if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
				t.Errorf("process %d outlives its job: %v", pid, err)
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		})
	}
}

// awaitHeadless returns when the first thread of a process has exited.
func awaitHeadless(t *testing.T, pid int) {
	t.Helper()
	for range 3000 { // far more than needed, so that a failing test ends
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(stat), ") Z ") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("its first thread runs on")
}
