//go:build unix

package guest

import (
	"os"
	"syscall"
)

// pid is that of the leader, and so the group's number.
func (p *process) pid() int { return p.cmd.Process.Pid }

// signal sends to the whole group. A group that is gone needs none.
func (p *process) signal(s syscall.Signal) { _ = syscall.Kill(-p.pid(), s) }

// reap kills the group, waits for its leader, and kills what left the group. The leader is waited for after the signals:
// until then its number is not given to another process, and a signal can hit no stranger. The second one is for what
// was started while the first was on its way.
func (p *process) reap() {
	p.signal(syscall.SIGKILL)
	<-p.exited
	p.signal(syscall.SIGKILL)
	_ = p.cmd.Wait() // how it ended stands in ProcessState
	endStrays(p.home)
}

// maxRSS is the largest resident size that the kernel saw of the leader or of a child it waited for, in bytes.
func maxRSS(state *os.ProcessState) int64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return int64(usage.Maxrss) * rssUnit
}
