//go:build unix && !linux

package guest

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// rssUnit is that of ru_maxrss on macOS: bytes. The BSDs count kibibytes; there the figure is too small.
const rssUnit = 1

// groupOfItsOwn makes the child the leader of a new group.
func groupOfItsOwn() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// await means waiting for it here, so its number is free when the rest of its group is killed: a very small chance to hit a
// stranger, which Linux does not have.
func (c command) await() { _ = c.cmd.Wait() }

const canMeasureMemory = false

// canServeAgain: what a process leaves running can't be seen here, so each is used once.
const canServeAgain = false

func residentBytes(int) (now, most int64) { return 0, 0 }

func (p *process) alone() bool { return false }

// groupRSS and groupCPU are not known here.
func groupRSS(int) int64         { return 0 }
func groupCPU(int) time.Duration { return 0 }

// endStrays can't find processes that left their group: others' environments are not to be read here.
func endStrays(string) {}

// hideSecrets can't: a module may read the worker's environment here.
func hideSecrets() error { return nil }

// cgroups are Linux's: there are none here.
type cgroups struct{}

func openCgroups(where string) (*cgroups, error) {
	if where == "" {
		return nil, nil
	}
	return nil, errors.New("cgroup " + where + ": there are cgroups on Linux only")
}

func (*cgroups) open(string) (*cgroup, error) { return nil, nil }
func (*cgroups) end() error                   { return nil }
func (*cgroups) String() string               { return "nobody" }

type cgroup struct{}

func (*cgroup) startIn(*syscall.SysProcAttr) (*os.File, error) { return nil, nil }
func (*cgroup) adopt(int) error                                { return nil }
func (*cgroup) limit(int64) error                              { return nil }
func (*cgroup) exceeded() bool                                 { return false }
func (*cgroup) peak() int64                                    { return 0 }
func (*cgroup) end() error                                     { return nil }
