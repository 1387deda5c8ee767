package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// check tries a network namespace if one is wanted: the kernel makes it before it looks for the
// program, which does not exist.
func (c Confinement) check() error {
	if !c.NoNetwork {
		return nil
	}
	probe := exec.Command("/nonexistent/stoker-probe")
	probe.SysProcAttr = groupOfItsOwn()
	c.isolate(probe.SysProcAttr)
	if err := probe.Start(); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("modules without a network: the kernel refuses a network namespace to this user (%w): allow unprivileged user "+
			"namespaces (sysctl user.max_user_namespaces, and the container's seccomp and AppArmor profiles), or leave out %s=none", err, networkEnv)
	}
	return nil
}

// CanIsolate returns an error if processes can't be started without a network.
func CanIsolate() error { return Confinement{NoNetwork: true}.check() }

// isolate makes the process begin in an empty network namespace, in which not even loopback is up.
// A user who may not make one, as all users but root, makes it within a user namespace in which it
// is itself and has no more rights outside than before (user_namespaces(7)).
func (c Confinement) isolate(attr *syscall.SysProcAttr) {
	if !c.NoNetwork {
		return
	}
	attr.Cloneflags |= syscall.CLONE_NEWNET
	if os.Geteuid() == 0 {
		return
	}
	attr.Cloneflags |= syscall.CLONE_NEWUSER
}

// mapUser maps only this user and group in the user namespace of a process that has just begun to
// execute its program. Until then the process has none; it waits for its assignment.
//
// Package syscall would write the same before the program is executed, which fails here: until then
// the child has the memory of this process, which is not dumpable (HideSecrets), so that only root
// may write the child's files in /proc (proc_pid_uid_map(5)).
func (c Confinement) mapUser(pid int) error {
	if !c.NoNetwork || os.Geteuid() == 0 {
		return nil
	}
	for _, file := range []struct{ name, text string }{
		{"setgroups", "deny"}, // otherwise no group may be mapped
		{"uid_map", fmt.Sprintf("%d %[1]d 1", os.Geteuid())},
		{"gid_map", fmt.Sprintf("%d %[1]d 1", os.Getegid())},
	} {
		if err := os.WriteFile(fmt.Sprintf("/proc/%d/%s", pid, file.name), []byte(file.text), 0); err != nil && !hasExited(pid) {
			return fmt.Errorf("map user and group of a process without a network: %w", err)
		}
	}
	return nil
}

// hasExited reports whether a child has exited, without waiting for it.
func hasExited(pid int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
	return err == nil && info.Signo != 0
}

// limit sets the limits of a process that has just started and waits for its assignment. What it
// starts before is counted from its next child on.
func (c Confinement) limit(pid int) error {
	for resource, most := range c.most(tasks()) {
		var now unix.Rlimit
		if err := unix.Prlimit(pid, resource, nil, &now); err != nil {
			return gone(err)
		}
		limit := lowered(now, most)
		if err := unix.Prlimit(pid, resource, &limit, nil); err != nil {
			return gone(err)
		}
	}
	return nil
}

// limits returns the limits that a process with a user ID of its own sets for itself.
func (c Confinement) limits() (map[int]unix.Rlimit, error) {
	limits := map[int]unix.Rlimit{}
	for resource, most := range c.most(0) {
		var now unix.Rlimit
		if err := unix.Getrlimit(resource, &now); err != nil {
			return nil, fmt.Errorf("read process limits: %w", err)
		}
		limits[resource] = lowered(now, most)
	}
	return limits, nil
}

// most returns the limits of a process whose user has some processes and threads already.
func (c Confinement) most(others int) map[int]uint64 {
	if c == (Confinement{}) {
		return nil // Confine was not called
	}
	limits := map[int]uint64{
		unix.RLIMIT_CORE:   0, // a core file may hold data
		unix.RLIMIT_NOFILE: uint64(c.OpenFiles),
		unix.RLIMIT_NPROC:  uint64(others + c.Processes),
	}
	if c.FileBytes > 0 {
		limits[unix.RLIMIT_FSIZE] = uint64(c.FileBytes)
	}
	return limits
}

// lowered returns a limit of at most that much.
func lowered(now unix.Rlimit, most uint64) unix.Rlimit {
	most = min(most, now.Max)
	return unix.Rlimit{Cur: min(most, now.Cur), Max: most}
}

// gone ignores the error of a process that has exited already: it needs no limits.
func gone(err error) error {
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return fmt.Errorf("set process limits: %w", err)
}

// tasks counts the processes and threads of this machine (proc_loadavg(5)). RLIMIT_NPROC counts
// only those of a user, which are no more; counting those would take longer than starting a module.
func tasks() int {
	var running, all int
	var load [3]float64
	text, err := os.ReadFile("/proc/loadavg")
	if err == nil {
		_, err = fmt.Sscanf(string(text), "%f %f %f %d/%d", &load[0], &load[1], &load[2], &running, &all)
	}
	if err != nil {
		return 0
	}
	return all
}

// limitCalls are the numbers of the system calls that limit other processes, on one system call
// architecture.
type limitCalls struct{ arch, prlimit64, setpriority, ioprioSet uint32 }

// limitCallsOf returns the calls of an architecture and of the one whose programs its kernel also
// runs (linux/audit.h, the system call tables).
func limitCallsOf(goarch string) []limitCalls {
	switch goarch {
	case "amd64":
		return []limitCalls{{unix.AUDIT_ARCH_X86_64, 302, 141, 251}, {unix.AUDIT_ARCH_I386, 340, 97, 289}}
	case "arm64":
		return []limitCalls{{unix.AUDIT_ARCH_AARCH64, 261, 140, 30}, {unix.AUDIT_ARCH_ARM, 369, 97, 314}}
	}
	return nil
}

// What a filter returns for a call (seccomp(2)).
const (
	filterAllow = 0x7fff0000                      // SECCOMP_RET_ALLOW
	filterDeny  = 0x00050000 | uint32(unix.EPERM) // SECCOMP_RET_ERRNO
	loadWord    = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	ifEqual     = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	returnK     = unix.BPF_RET | unix.BPF_K
	offsetNr    = 0
	offsetArch  = 4
	offsetArgs  = 16 // of 8 bytes each, the low half first on these architectures
)

// denials returns a system call filter that refuses to set limits (prlimit64), the priority
// (setpriority) and the I/O priority (ioprio_set) of any process but the calling one, and allows
// all other calls. Otherwise processes of one user may set these for each other, and Landlock does
// not restrict it. A process that passes its own id is refused, too. On other architectures every
// call is allowed.
func denials() []unix.SockFilter { return denialsOf(runtime.GOARCH) }

// denialsOf returns denials for an architecture.
func denialsOf(goarch string) (program []unix.SockFilter) {
	calls := limitCallsOf(goarch)
	if len(calls) > 0 {
		program = append(program, unix.SockFilter{Code: loadWord, K: offsetArch})
	}
	for _, call := range calls {
		const x32 = 0x40000000 // __X32_SYSCALL_BIT: the same numbers
		body := slices.Concat(
			[]unix.SockFilter{{Code: loadWord, K: offsetNr}, {Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: ^uint32(x32)}},
			ofOthers(call.prlimit64, []unix.SockFilter{
				{Code: loadWord, K: offsetArgs},       // the process
				{Code: ifEqual, K: 0, Jt: 4},          // itself: allow
				{Code: loadWord, K: offsetArgs + 2*8}, // a pointer to new limits
				{Code: ifEqual, K: 0, Jf: 3},          // some: deny
				{Code: loadWord, K: offsetArgs + 2*8 + 4},
				{Code: ifEqual, K: 0, Jf: 1},
			}),
			ofOthers(call.setpriority, ofUserOrOther(unix.PRIO_USER)),
			ofOthers(call.ioprioSet, ofUserOrOther(3)), // IOPRIO_WHO_USER
			[]unix.SockFilter{{Code: returnK, K: filterAllow}},
		)
		program = append(program, unix.SockFilter{Code: ifEqual, K: call.arch, Jf: uint8(len(body))})
		program = append(program, body...)
	}
	return append(program, unix.SockFilter{Code: returnK, K: filterAllow})
}

// ofOthers handles a call, whose number is loaded, by a test that ends before an instruction that
// allows and one that denies.
func ofOthers(call uint32, test []unix.SockFilter) []unix.SockFilter {
	return slices.Concat(
		[]unix.SockFilter{{Code: ifEqual, K: call, Jf: uint8(len(test) + 2)}}, test,
		[]unix.SockFilter{{Code: returnK, K: filterAllow}, {Code: returnK, K: filterDeny}})
}

// ofUserOrOther tests a call whose first argument is the kind of its target, a process or all of a
// user, and whose second one identifies it; 0 is the caller's own.
func ofUserOrOther(user uint32) []unix.SockFilter {
	return []unix.SockFilter{
		{Code: loadWord, K: offsetArgs + 8},
		{Code: ifEqual, K: 0, Jf: 3}, // another one: deny
		{Code: loadWord, K: offsetArgs},
		{Code: ifEqual, K: user, Jt: 1},
	}
}

// entry is what a process does before it executes a program as another user. A worker can't do so
// from outside: limits of another user's processes need a capability that containers don't have.
type entry struct {
	User   int                 `json:"user"`
	Limits map[int]unix.Rlimit `json:"limits"`
	Parent int                 `json:"parent"`
	// the descriptor of a program to execute instead of the path; 0: none
	Program int `json:"program"`
	// the descriptor stays open: the interpreter of a script reads it
	Keep bool `json:"keep"`
}

// command makes a command start by Enter. program, if it is not nil, is executed instead of the
// command's path.
func (u *User) command(cmd *exec.Cmd, confined Confinement, program *os.File) error {
	if cmd.Err != nil {
		return cmd.Err
	}
	limits, err := confined.limits()
	if err != nil {
		return err
	}
	path, err := filepath.Abs(cmd.Path)
	if err != nil {
		return err
	}
	e := entry{User: u.ID, Limits: limits, Parent: os.Getpid()}
	if program != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, program)
		e.Program, e.Keep = 2+len(cmd.ExtraFiles), IsScript(program)
	}
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	// The kernel's name for this program: its path may lead to another one by now.
	cmd.Path, cmd.Args = "/proc/self/exe", slices.Concat([]string{os.Args[0], enterArgument, string(text), path}, cmd.Args)
	return nil
}

// enterArgument is the first argument of a program that is to start another one.
const enterArgument = "enter"

// Enter executes the program of a User's command. A program that uses Users calls it first in its
// main function, with its arguments, its name included. If they are those of a User's command,
// Enter executes the command's program, and returns only with an error. Otherwise entered is false.
func Enter(args []string) (entered bool, err error) {
	if len(args) < 5 || args[1] != enterArgument {
		return false, nil
	}
	return true, enter(args[2], args[3], args[4:])
}

// enter is Enter with the parts of a command: an entry, a program and its arguments, its name
// included.
func enter(how, path string, line []string) error {
	var e entry
	if err := json.Unmarshal([]byte(how), &e); err != nil {
		return fmt.Errorf("read the request to start a program: %w", err)
	}
	runtime.LockOSThread() // users are per thread, and this one becomes the first of the program
	for resource, limit := range e.Limits {
		if err := unix.Setrlimit(resource, &limit); err != nil {
			return fmt.Errorf("set process limits: %w", err)
		}
	}
	if err := changeUser(e.User); err != nil {
		return fmt.Errorf("become user %d: %w", e.User, err)
	}
	// the change of the user has cleared it
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return err
	}
	if os.Getppid() != e.Parent {
		return errors.New("the worker has ended")
	}
	if e.Program != 0 {
		path = fmt.Sprintf("/proc/self/fd/%d", e.Program)
		if !e.Keep {
			unix.CloseOnExec(e.Program)
		}
	}
	return fmt.Errorf("execute %s as user %d: %w", path, e.User, syscall.Exec(path, line, os.Environ()))
}

// changeUser gives this thread a user and its group, no other group, and no keys of the session
// that it was started in. Package syscall would change all threads, which would count as processes
// of the user.
func changeUser(id int) error {
	_, _, errno := unix.RawSyscall(unix.SYS_KEYCTL, unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0)
	// if it is forbidden here, the program can't do it either
	if errno != 0 && errno != unix.ENOSYS && errno != unix.EPERM {
		return errno
	}
	n := uintptr(id)
	for _, call := range [][4]uintptr{{unix.SYS_SETGROUPS}, {unix.SYS_SETRESGID, n, n, n}, {unix.SYS_SETRESUID, n, n, n}} {
		if _, _, errno := unix.RawSyscall(call[0], call[1], call[2], call[3]); errno != 0 {
			return errno
		}
	}
	return nil
}
