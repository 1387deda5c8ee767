//go:build unix && !linux

package process

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// rssUnit is that of ru_maxrss on macOS: bytes. The BSDs count kibibytes; there the figure is too small.
const rssUnit = 1

// groupOfItsOwn makes the child the leader of a new session, and so of a new group: it has no way to the worker's terminal.
func groupOfItsOwn() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// launch starts a command, and waits for it, so that its number is free when the rest of its group is killed: a very small chance to hit a
// stranger, which Linux does not have.
func (*family) launch(cmd *exec.Cmd, _ *Sandbox) (exited <-chan struct{}, err error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	over := make(chan struct{})
	go func() { defer close(over); _ = cmd.Wait() }() // how it ended stands in ProcessState
	return over, nil
}

// Bounds are what a command of Run is held to, on Linux.
type Bounds struct {
	Access      *Access
	Confinement Confinement
	User        *User
}

// Run runs a command in a session of its own, and returns when it has ended. It can't be held to its bounds here.
func Run(cmd *exec.Cmd, _ string, _ Bounds) error {
	cmd.SysProcAttr = groupOfItsOwn()
	if err := cmd.Start(); err != nil {
		return err
	}
	err := cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it has left running
	return err
}

// family is of no use where orphans can't be adopted.
type family struct{}

func (*family) setBusy(bool) {}
func (*family) leave()       {}
func adoptOrphans() error    { return nil }
func endOrphans()            {}

// CanTellOrphans is false: what has no parent any more is not found here.
func CanTellOrphans() bool { return false }

// CanSandbox says that processes can't be held to an Access here.
func CanSandbox() error { return errors.New("modules are kept apart on Linux alone") }

// SandboxLacks is asked where CanSandbox has no error.
func SandboxLacks() []string { return nil }

// Sandbox is nil: processes can't be held to an Access here.
func (Access) Sandbox(string) *Sandbox { return nil }

// CanMeasureMemory says whether limits of memory can hold here.
const CanMeasureMemory = false

// CanSeeStrays says whether Alone tells what a process has left running.
const CanSeeStrays = false

// ResidentBytes, GroupMemoryBytes and GroupCPU are not known here.
func (p *Process) ResidentBytes() (now, most int64) { return 0, 0 }
func (p *Process) GroupMemoryBytes() int64          { return 0 }
func (p *Process) GroupCPU() time.Duration          { return 0 }

// Alone is not known here.
func (p *Process) Alone() bool { return false }

// endStrays can't find processes that left their group: others' environments are not to be read here.
func endStrays(string) {}

// HideSecrets can't: another process may read the worker's environment here.
func HideSecrets() error { return nil }

// cgroups are Linux's: there are none here.
type cgroups struct{}

func openCgroups(where string) (*cgroups, error) {
	if where == "" {
		return nil, nil
	}
	return nil, errors.New("cgroup " + where + ": there are cgroups on Linux only")
}

func (*cgroups) open(string) (*Cgroup, error) { return nil, nil }
func (*cgroups) end() error                   { return nil }
func (*cgroups) String() string               { return "nobody" }

// Cgroup is Linux's: there is none here.
type Cgroup struct{}

func (*Cgroup) startIn(*syscall.SysProcAttr) (*os.File, error) { return nil, nil }
func (*Cgroup) adopt(int) error                                { return nil }
func (*Cgroup) end() error                                     { return nil }

// Limit, Exceeded and PeakBytes are asked of none.
func (*Cgroup) Limit(int64) error { return nil }
func (*Cgroup) Exceeded() bool    { return false }
func (*Cgroup) Lifted() bool      { return false }
func (*Cgroup) PeakBytes() int64  { return 0 }
