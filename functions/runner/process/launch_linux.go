package process

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// launch starts a command from a thread of its own, on which it sets what the child inherits: no
// new privileges from set-user-ID programs, the brand, and the sandbox. The thread lives as long as
// the child, because to the kernel it is the parent (PR_SET_PDEATHSIG). Only the descriptors that
// the command names reach the child. exited is closed when the child has exited; it is a zombie
// then.
func launch(cmd *exec.Cmd, sandbox *Sandbox) (exited <-chan struct{}, err error) {
	started, over := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread() // never unlocked, so that the thread ends with the goroutine
		if unix.Gettid() == os.Getpid() {
			// The first thread represents the process in /proc. While it is locked, another
			// goroutine gets another thread.
			inner := make(chan struct{})
			go func() { defer close(inner); runtime.LockOSThread(); hold(cmd, sandbox, started) }()
			<-inner
			runtime.UnlockOSThread()
		} else {
			hold(cmd, sandbox, started)
		}
		close(over)
	}()
	return over, <-started
}

// launch starts a leader, and registers it.
func (f *family) launch(cmd *exec.Cmd, sandbox *Sandbox) (exited <-chan struct{}, err error) {
	families.starting.RLock()
	defer families.starting.RUnlock()
	if exited, err = launch(cmd, sandbox); err == nil {
		f.join(cmd.Process.Pid)
	}
	return exited, err
}

// Bounds limit a command of Run.
type Bounds struct {
	Access      *Access // to files; nil: that of this process
	Confinement Confinement
	User        *User // nil: that of this process
}

// Run runs a command that has a home, which it owns, and returns when the command and all that it
// started has ended. The command has only the descriptors that it names, and a session of its own.
// It begins without a network if the bounds say so; its limits are set right after its start. Its
// environment gets a mark: see MarkEnv.
func Run(cmd *exec.Cmd, home string, bounds Bounds) error {
	var sandbox *Sandbox
	if bounds.Access != nil {
		sandbox = bounds.Access.Sandbox(home)
	}
	if err := adoptOrphans(); err != nil {
		return err
	}
	cmd.SysProcAttr, cmd.Env = groupOfItsOwn(), append(cmd.Env, MarkEnv+"="+home)
	bounds.Confinement.isolate(cmd.SysProcAttr)
	if bounds.User != nil {
		if err := errors.Join(os.Chown(home, bounds.User.ID, bounds.User.ID), bounds.User.command(cmd, bounds.Confinement, nil)); err != nil {
			return err
		}
	}
	var f family
	f.setBusy(true)
	exited, err := f.launch(cmd, sandbox)
	if err != nil {
		f.setBusy(false)
		return err
	}
	unheld := bounds.hold(cmd.Process.Pid)
	if unheld != nil {
		_ = cmd.Process.Kill() // before it is waited for
	}
	<-exited
	// its id is not reused until it is waited for
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	err = cmd.Wait()
	f.leave()
	endStrays(home)
	bounds.User.endAll(0)
	endOrphans()
	if unheld != nil {
		return unheld
	}
	return err
}

// hold applies limits to a process that has just started, if it does not apply them itself.
func (b Bounds) hold(pid int) error {
	if b.User != nil {
		return nil
	}
	return errors.Join(b.Confinement.mapUser(pid), b.Confinement.limit(pid))
}

// hold starts a command from this thread, reports the result, and returns when the child has
// exited.
func hold(cmd *exec.Cmd, sandbox *Sandbox, started chan<- error) {
	err := errors.Join(unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC), brand(), sandbox.enter())
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		started <- err
		return
	}
	pid := cmd.Process.Pid
	started <- nil
	awaitChild(pid)
}

// brand installs a system call filter that refuses the calls that limit other processes: see
// denials. Every process that this thread starts from here on inherits it and can't remove it. The
// kernel reports how many filters a process has, which also distinguishes these processes from
// other children of this one.
func brand() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("forbid new privileges: %w", err)
	}
	const specAllow = 1 << 2 // SECCOMP_FILTER_FLAG_SPEC_ALLOW
	filter := denials()
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, specAllow, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(filter)
	if errno != 0 && errno != unix.ENOSYS && errno != unix.EINVAL { // a kernel without filters
		return fmt.Errorf("mark a thread of the parent: %w", errno)
	}
	return nil
}

// ownFilters is how many filters this process was started with.
var ownFilters = sync.OnceValue(func() int { return filters(os.Getpid()) })

// branded reports whether a process, which may be a zombie or have lost its first thread, has more
// filters than this one.
func branded(pid int) bool { return filters(pid) > ownFilters() }

// filters reads proc_pid_status(5). It is 0 before Linux 5.9.
func filters(pid int) int {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(status) {
		if text, ok := bytes.CutPrefix(line, []byte("Seccomp_filters:")); ok {
			n, _ := strconv.Atoi(string(bytes.TrimSpace(text)))
			return n
		}
	}
	return 0
}

// CanFindOrphans reports whether processes without a parent that a process leaves running can be
// distinguished from other children: since Linux 5.9.
func CanFindOrphans() bool {
	status, err := os.ReadFile("/proc/self/status")
	return err == nil && bytes.Contains(status, []byte("\nSeccomp_filters:"))
}

// awaitChild returns when a child has exited, and leaves it a zombie.
func awaitChild(pid int) {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// programFD is the lowest descriptor of a sealed program. A child's own descriptors, which are set
// up before it executes the program, are lower.
const programFD = 100

// Seal returns a copy of a program that no process can change, not even one of the same user:
// memory without a name (memfd_create(2)). If the kernel forbids programs in such memory (sysctl
// vm.memfd_noexec), it is the file itself. The caller closes the copy; a process that runs it
// continues. sum, if it is not nil, gets everything that is copied.
func Seal(path string, sum io.Writer) (program *os.File, err error) {
	from, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	fd, err := unix.MemfdCreate("module", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		fd, err = unix.MemfdCreate("module", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if sum == nil {
		sum = io.Discard
	}
	if err != nil {
		if _, err := io.Copy(sum, from); err != nil {
			return nil, err
		}
		return moveUp(from, path)
	}
	memory := os.NewFile(uintptr(fd), path)
	defer func() { err = errors.Join(err, memory.Close()) }()
	if _, err := io.Copy(io.MultiWriter(memory, sum), from); err != nil {
		return nil, err
	}
	if _, err := unix.FcntlInt(memory.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SEAL|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE); err != nil {
		return nil, fmt.Errorf("seal a copy of %s: %w", path, err)
	}
	return moveUp(memory, path)
}

// moveUp returns the file with another descriptor, which a child does not use for its own.
func moveUp(file *os.File, path string) (*os.File, error) {
	fd, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, programFD)
	if err != nil {
		return nil, fmt.Errorf("copy %s: %w", path, err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

// Share returns the same program with a descriptor of its own, which the caller closes.
func Share(program *os.File) (*os.File, error) { return moveUp(program, program.Name()) }

// execute has a command execute a sealed program, whose descriptor it inherits until then. The
// interpreter of a script opens it after that: the process keeps the descriptor, after its other
// ones.
func execute(cmd *exec.Cmd, program *os.File) {
	fd := int(program.Fd())
	if IsScript(program) {
		cmd.ExtraFiles = append(cmd.ExtraFiles, program)
		fd = 2 + len(cmd.ExtraFiles)
	}
	cmd.Path = fmt.Sprintf("/proc/self/fd/%d", fd)
}
