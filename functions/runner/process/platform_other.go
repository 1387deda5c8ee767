//go:build !linux

package process

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// rssUnit is the unit of ru_maxrss on macOS: bytes. The BSDs count kibibytes; there the value is
// too small.
const rssUnit = 1

// groupOfItsOwn makes the child the leader of a new session, and so of a new group, without access
// to the worker's terminal.
func groupOfItsOwn() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// launch starts a command, and waits for it, so its id is free when the rest of its group is
// killed: there is a very small chance of killing another process, which does not exist on Linux.
func (*family) launch(cmd *exec.Cmd, _ *Sandbox) (exited <-chan struct{}, err error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	over := make(chan struct{})
	go func() { defer close(over); _ = cmd.Wait() }() // ProcessState tells how it ended
	return over, nil
}

// Bounds limit a command of Run, on Linux.
type Bounds struct {
	Access      *Access
	Confinement Confinement
	User        *User
}

// Run runs a command in a session of its own, and returns when it has ended. It can't enforce
// bounds here.
func Run(cmd *exec.Cmd, _ string, _ Bounds) error {
	cmd.SysProcAttr = groupOfItsOwn()
	if err := cmd.Start(); err != nil {
		return err
	}
	err := cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it has left running
	return err
}

// family is unused: orphans can't be adopted here.
type family struct{}

func (*family) setBusy(bool) {}
func (*family) leave()       {}
func adoptOrphans() error    { return nil }
func endOrphans()            {}

// CanFindOrphans is false: processes without a parent are not found here.
func CanFindOrphans() bool { return false }

// CanSandbox fails: an Access can't be enforced here.
func CanSandbox() error { return errors.New("isolating modules needs Linux") }

// SandboxLacks is called only if CanSandbox has no error.
func SandboxLacks() []string { return nil }

// Sandbox is nil: an Access can't be enforced here.
func (Access) Sandbox(string) *Sandbox { return nil }

// CanMeasureMemory reports whether memory limits can be enforced here.
const CanMeasureMemory = false

// CanSeeStrays reports whether Alone knows what a process has left running.
const CanSeeStrays = false

// ResidentBytes, GroupMemoryBytes and GroupCPU are unknown here.
func (p *Process) ResidentBytes() (now, most int64) { return 0, 0 }
func (p *Process) GroupMemoryBytes() int64          { return 0 }
func (p *Process) GroupCPU() time.Duration          { return 0 }

// Alone is unknown here.
func (p *Process) Alone() bool { return false }

// endStrays can't find processes that left their group: other processes' environments can't be read
// here.
func endStrays(string) {}

// HideSecrets does nothing: another process may read the worker's environment here.
func HideSecrets() error { return nil }

// cgroups exist on Linux only.
type cgroups struct{}

func openCgroups(where string) (*cgroups, error) {
	if where == "" {
		return nil, nil
	}
	return nil, errors.New("cgroup " + where + ": cgroups need Linux")
}

func (*cgroups) open(string) (*Cgroup, error) { return nil, nil }
func (*cgroups) end() error                   { return nil }
func (*cgroups) String() string               { return "nobody" }

// Cgroup exists on Linux only.
type Cgroup struct{}

func (*Cgroup) startIn(*syscall.SysProcAttr) (*os.File, error) { return nil, nil }
func (*Cgroup) adopt(int) error                                { return nil }
func (*Cgroup) end() error                                     { return nil }

// Limit, Exceeded and PeakBytes are called on nil only.
func (*Cgroup) Limit(int64) error { return nil }
func (*Cgroup) Exceeded() bool    { return false }
func (*Cgroup) Lifted() bool      { return false }
func (*Cgroup) PeakBytes() int64  { return 0 }

// check fails: only Linux has namespaces.
func (c Confinement) check() error {
	if c.NoNetwork {
		return errors.New("modules without a network need Linux: leave out " + networkEnv + "=none")
	}
	return nil
}

// CanIsolate fails: processes can't be started without a network here.
func CanIsolate() error { return Confinement{NoNetwork: true}.check() }

func (c Confinement) isolate(*syscall.SysProcAttr) {}
func (c Confinement) mapUser(int) error            { return nil }

// limit fails: other systems have no call that sets another process's limits.
func (c Confinement) limit(int) error { return nil }

// Seal only opens the program here, and writes it to sum: the file of that name is executed.
func Seal(path string, sum io.Writer) (program *os.File, err error) {
	if program, err = os.Open(path); err != nil || sum == nil {
		return program, err
	}
	if _, err = io.Copy(sum, program); err != nil {
		return nil, errors.Join(err, program.Close())
	}
	return program, nil
}

// Share opens the program again.
func Share(program *os.File) (*os.File, error) { return os.Open(program.Name()) }

// execute has a command execute a program by its name.
func execute(cmd *exec.Cmd, program *os.File) { cmd.Path = program.Name() }

// Users exist on Linux only.
type Users struct{}

// OpenUsers fails if users are asked for.
func OpenUsers(text string) (*Users, error) {
	if _, _, ok, err := parseUsers(text); err != nil || !ok {
		return nil, err
	}
	return nil, CanChangeUser()
}

// CanChangeUser fails: modules can't have users of their own here.
func CanChangeUser() error { return errors.New("separate users for modules need Linux") }

// Enter does nothing: it starts no processes here.
func Enter([]string) (entered bool, err error) { return false, nil }

// Has is false: there are no IDs.
func (*Users) Has(int) bool { return false }

// With calls do with the user of this process.
func (*Users) With(do func(*User) error) error { return do(nil) }

// Keeper calls do with the user of this process.
func (*Users) Keeper(do func(*User) error) error { return do(nil) }

func (*Users) String() string                                { return "off" }
func (*Users) lease() (*User, error)                         { return nil, nil }
func (*User) endAll(int)                                     {}
func (*User) command(*exec.Cmd, Confinement, *os.File) error { return CanChangeUser() }
