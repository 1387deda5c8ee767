package process

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// endsWithWorker is the signal that this process gets when its parent ends. The kernel keeps it per
// thread, and only the first thread, on which packages are initialized, has it.
var endsWithWorker, errEndsWithWorker = func() (signal int32, err error) {
	err = unix.Prctl(unix.PR_GET_PDEATHSIG, uintptr(unsafe.Pointer(&signal)), 0, 0, 0)
	return signal, err
}()

// reportUser prints the user of this process, and what it may do to its parent and to a file.
func reportUser(file string) error {
	groups, err := os.Getgroups()
	said := []error{err, fmt.Errorf("user %d %d group %d %d others %v", os.Getuid(), os.Geteuid(), os.Getgid(), os.Getegid(), groups)}
	try := func(what string, err error) {
		said = append(said, fmt.Errorf("%s: %t", what, err == nil))
	}
	_, err = os.ReadFile(file)
	try("read", err)
	try("change mode", os.Chmod(file, 0o777))
	try("signal", syscall.Kill(os.Getppid(), 0))
	try("signal all", syscall.Kill(-1, 0))
	_, err = os.ReadFile(fmt.Sprintf("/proc/%d/environ", os.Getppid()))
	try("environment", err)
	try("trace", unix.PtraceSeize(os.Getppid()))
	try("become root", syscall.Setuid(0))
	try("processor", unix.SchedSetaffinity(os.Getppid(), new(unix.CPUSet)))
	_, err = os.ReadDir(filepath.Dir(os.Getenv("HOME")))
	try("list homes", err)
	try("own home", os.WriteFile(filepath.Join(os.Getenv("HOME"), "file"), nil, 0o600))
	var limit unix.Rlimit
	try("limits", unix.Getrlimit(unix.RLIMIT_NPROC, &limit))
	privileges, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	said = append(said, err, errEndsWithWorker, fmt.Errorf("processes %d no new privileges %d with the worker %d", limit.Max, privileges, endsWithWorker))
	return errors.New(strings.ReplaceAll(errors.Join(said...).Error(), "\n", ", "))
}

// linger leaves a process in a session of its own, without a mark and a parent, and waits. The
// process writes its id to a file.
func linger(file string) error {
	script := `/usr/bin/env -i /bin/sh -c 'setsid /bin/sh -c "echo \$\$ >` + file + `.new; mv ` + file + `.new ` + file + `; exec sleep 600" &'`
	return exec.Command("/bin/sh", "-c", script).Run()
}

// supervisorWithUsers returns a Supervisor whose processes have users of their own. It needs root.
func supervisorWithUsers(t *testing.T) *Supervisor {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give processes other users: run this test as root")
	}
	users, err := OpenUsers("on")
	if err != nil {
		t.Fatal(err)
	}
	supervisor, err := Open("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := supervisor.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := errors.Join(supervisor.UseUsers(users), supervisor.Confine(Confinement{Processes: 100})); err != nil {
		t.Fatal(err)
	}
	return supervisor
}

// begin starts this test binary as a process of the supervisor that tries something, and returns
// its first line.
func begin(t *testing.T, supervisor *Supervisor, what string) (*Process, string) {
	t.Helper()
	self, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	p, err := supervisor.Start(Command{Line: []string{os.Args[0]}, Program: self, Env: append(os.Environ(), tryEnv+"="+what)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !p.Dead() {
			p.End()
		}
	})
	_, err = io.WriteString(p.Stdin, "\n")
	// Far off: so that a red test ends.
	if err = errors.Join(err, p.Output.SetReadDeadline(time.Now().Add(8*time.Minute))); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(p.Output).ReadString('\n')
	if err != nil {
		t.Fatalf("it says %q: %v", line, err)
	}
	return p, line
}

// The kernel alone denies a process under another user the worker's files, memory, signals and
// processors.
func TestAProcessUnderAnotherUserTouchesNothingOfItsWorker(t *testing.T) {
	supervisor := supervisorWithUsers(t)
	withGroup(t)
	file := filepath.Join(openDir(t), "secret")
	if err := os.WriteFile(file, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, text := begin(t, supervisor, "report "+file)
	defer p.End()
	want := []string{fmt.Sprintf("user %d %[1]d group %[1]d %[1]d others []", p.User.ID), "own home: true", "processes 100 no new privileges 1 with the worker 9"}
	for _, what := range []string{"read", "change mode", "signal", "environment", "trace", "become root", "processor", "list homes"} {
		want = append(want, what+": false")
	}
	for _, part := range want {
		if !strings.Contains(text, part) {
			t.Errorf("want %q in %s", part, text)
		}
	}
	if p.User.ID == 0 {
		t.Error("it is root")
	}
}

// withGroup puts this process into another group for the test, which its processes must leave.
func withGroup(t *testing.T) {
	t.Helper()
	before, err := syscall.Getgroups()
	if err == nil {
		err = syscall.Setgroups([]int{1})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Setgroups(before); err != nil {
			t.Error(err)
		}
	})
}

// openDir returns a directory that all users can access.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "stoker-users-")
	if err == nil {
		err = os.Chmod(dir, 0o777)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func TestProcessesHaveDifferentUsersWhileTheyLive(t *testing.T) {
	supervisor := supervisorWithUsers(t)
	first, _ := begin(t, supervisor, "report /")
	second, _ := begin(t, supervisor, "report /")
	if first.User.ID == second.User.ID {
		t.Errorf("both are user %d", first.User.ID)
	}
	info, err := os.Stat(first.Home)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the home has mode %v, %v", info.Mode(), err)
	}
	if state := info.Sys().(*syscall.Stat_t); int(state.Uid) != first.User.ID {
		t.Errorf("the home is user %d's", state.Uid)
	}
	first.End()
	second.End()
	if len(supervisor.users.leased) != 0 {
		t.Errorf("%v are leased when all have ended", supervisor.users.leased)
	}
}

// Without a cgroup and while another process of the worker is busy: the user identifies its owner.
func TestWhatAProcessUnderAnotherUserLeavesRunningEndsWithIt(t *testing.T) {
	supervisor := supervisorWithUsers(t)
	busy, _ := begin(t, supervisor, "report /")
	busy.SetBusy(true)
	file := filepath.Join(openDir(t), "pid")
	p, text := begin(t, supervisor, "linger "+file)
	p.SetBusy(true)
	if text != "<nil>\n" {
		t.Fatal(text)
	}
	left := readNumber(t, file)
	if !p.User.owns(left) {
		t.Errorf("process %d is not of user %d", left, p.User.ID)
	}
	p.End()
	if lives(left) {
		t.Errorf("process %d outlives its job", left)
		_ = syscall.Kill(left, syscall.SIGKILL)
	}
	busy.End()
}

func readNumber(t *testing.T, file string) int {
	t.Helper()
	for end := time.Now().Add(8 * time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		n, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	t.Fatal("no number in " + file)
	return 0
}

// Two workers may have the same range: an ID that one has leased belongs to no other.
func TestWorkersOfAMachineShareARange(t *testing.T) {
	supervisor, other := supervisorWithUsers(t), supervisorWithUsers(t)
	const same = 70100
	for _, p := range []*Supervisor{supervisor, other} {
		p.users.first, p.users.last = same, same+2
	}
	first, err := supervisor.users.lease()
	if err != nil {
		t.Fatal(err)
	}
	second, err := other.users.lease()
	if err != nil || first.ID == second.ID {
		t.Fatal(first.ID, second, err)
	}
	if third, err := other.users.lease(); err == nil || !strings.Contains(err.Error(), "all user IDs of modules are in use") {
		t.Errorf("%v, %v, want none", third, err)
	}
	first.release()
	third, err := other.users.lease()
	if err != nil || third.ID != first.ID {
		t.Errorf("%v, %v, want user %d", third, err, first.ID)
	}
}

// A killed worker leaves processes behind: its lock is gone, and its range may be another's by now.
func TestWhatRunsUnderAnIDEndsBeforeItIsUsed(t *testing.T) {
	supervisor := supervisorWithUsers(t)
	const id = 70200
	supervisor.users.first, supervisor.users.last = id, id+1
	left := exec.Command("/bin/sleep", "600")
	left.Dir, left.SysProcAttr = "/", &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id, Gid: id}}
	if err := left.Start(); err != nil {
		t.Fatal(err)
	}
	user, err := supervisor.users.lease()
	if err != nil || user.ID != id {
		t.Fatal(user, err)
	}
	defer user.release()
	if err := left.Wait(); left.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("it ended with %v", err)
	}
}

func TestRangesOfUsersAreChecked(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "off": "", "on": "ok", "70000-70499": "ok",
		"root": "expected on, off or a range", "70000": "expected on, off or a range", "70000-x": "expected on, off or a range",
		"0-500": "not below 1000", "70000-70001": "from 16 to", "70000-60000": "from 16 to", "1000-9999999": "from 16 to",
	} {
		_, _, ok, err := parseUsers(text)
		switch want {
		case "", "ok":
			if err != nil || ok != (want == "ok") {
				t.Errorf("%q: %t, %v", text, ok, err)
			}
		default:
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v, want %q", text, err, want)
			}
		}
	}
}

func TestUsersOfThisMachineAreNoUsersOfModules(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "passwd")
	if err := os.WriteFile(file, []byte("root:x:0:0::/root:/bin/sh\nada:x:70003:70003::/home/ada:/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	u := &Users{first: 70000, last: 70015}
	if err := u.unused(file); err == nil || !strings.Contains(err.Error(), "70003 belongs to ada") {
		t.Errorf("%v, want that ada has one of them", err)
	}
	if err := (&Users{first: 71000, last: 71015}).unused(file); err != nil {
		t.Error(err)
	}
}

func TestAnyoneButRootCanNotChangeUsers(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		if err := CanChangeUser(); err != nil {
			t.Error(err)
		}
		return
	}
	if _, err := OpenUsers("on"); err == nil || !strings.Contains(err.Error(), "only root") {
		t.Errorf("%v, want that only root can", err)
	}
}
