package process

import (
	"bytes"
	"errors"
	"fmt"
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

// launch starts a command from a thread of its own, on which it puts what the child shall inherit: no new privileges by set-user-ID
// programs, the brand, and the sandbox. The thread lives as long as the child, for the kernel takes it for the parent (PR_SET_PDEATHSIG). No
// descriptors reach the child but those that the command names. exited is closed when the child has exited; it is a zombie then.
func launch(cmd *exec.Cmd, sandbox *Sandbox) (exited <-chan struct{}, err error) {
	started, over := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread() // and never unlocked, so that the thread ends with the goroutine
		if unix.Gettid() == os.Getpid() {
			// The first thread stands for the process in /proc. While it is locked, another goroutine has another thread.
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

// launch starts a leader, and makes it known.
func (f *family) launch(cmd *exec.Cmd, sandbox *Sandbox) (exited <-chan struct{}, err error) {
	families.starting.RLock()
	defer families.starting.RUnlock()
	if exited, err = launch(cmd, sandbox); err == nil {
		f.join(cmd.Process.Pid)
	}
	return exited, err
}

// Bounds are what a command of Run is held to.
type Bounds struct {
	Access      *Access // to files; nil: that of this process
	Confinement Confinement
	User        *User // nil: that of this process
}

// Run runs a command that has a home, which it owns, and returns when it has ended and all that it started. It has the descriptors that the
// command names and no others, and a session of its own. It begins without a network if it is to have none; its limits are set right after
// its start. The command's environment gets a mark: see MarkEnv.
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
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // until it is waited for, its number is no one else's
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

// hold holds a process that has just started to what it does not do by itself.
func (b Bounds) hold(pid int) error {
	if b.User != nil {
		return nil
	}
	return errors.Join(b.Confinement.mapUser(pid), b.Confinement.limit(pid))
}

// hold starts a command from this thread, tells how that went, and returns when the child has exited.
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

// brand installs a filter of system calls, which refuses those that limit other processes: see denials. Every process that this one starts
// from here on inherits it and none gets rid of it, and the kernel says how many a process has, so that it also tells these processes from
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
	if errno != 0 && errno != unix.ENOSYS && errno != unix.EINVAL { // a kernel without
		return fmt.Errorf("mark a thread for its children: %w", errno)
	}
	return nil
}

// ownFilters is how many filters this process was started with.
var ownFilters = sync.OnceValue(func() int { return filters(os.Getpid()) })

// branded says whether a process, which may be a zombie or have lost its first thread, has more filters than this one.
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

// CanTellOrphans says whether what a process leaves running without a parent can be told from other children: since Linux 5.9.
func CanTellOrphans() bool {
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
