package process

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// leavesOrphan starts a process that has no mark, a session of its own, and no parent that lives.
const leavesOrphan = "read line; /usr/bin/env -i /bin/sh -c 'setsid sh -c \"sleep 600 & echo \\$!\"'; read line"

// Tests of orphans run one after another: those of one may be those of any process that is busy beside it.

func TestAProcessWithoutAMarkEndsWithItsJobWithoutACgroup(t *testing.T) {
	p, orphan := orphaned(t)
	p.End()
	if lives(orphan) {
		t.Errorf("process %d outlives its job", orphan)
	}
}

// What has no mark may belong to any job that ran when it began.
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

// An orphan that has ended leaves no zombie with this process, which is its parent by now.
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

// Other children of this process are none of its business.
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

// orphanOf waits until a process's orphan is no other's child any more than this one's.
func orphanOf(t *testing.T, p *Process) int {
	t.Helper()
	if err := p.Output.SetReadDeadline(time.Now().Add(time.Minute)); err != nil { // far off: so that a red test ends
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
	secret, err := syscall.Open("/etc/passwd", syscall.O_RDONLY, 0) // as a parent that doesn't know of O_CLOEXEC leaves it
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(secret)
	p, err := supervisorWith(t, nil).Start(Command{Line: []string{"/bin/sh", "-c", "for fd in /proc/self/fd/*; do readlink $fd; done; :"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.End()
	if err := p.Output.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(p.Output)
	if err != nil || strings.Contains(string(text), "/etc/passwd") || strings.Count(string(text), "pipe:") != 4 {
		t.Errorf("it has open\n%s, %v", text, err)
	}
}

// What a command leaves running ends with it: in its group, in a session of its own, and without its mark and its parent.
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
