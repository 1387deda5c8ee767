//go:build unix

package guest

import "syscall"

// pid is that of the leader, and so the group's number.
func (p *process) pid() int { return p.leader.pid() }

// signal sends to the whole group. A group that is gone needs none, and one whose number may be another's by now gets none.
func (p *process) signal(s syscall.Signal) {
	if p.leader.held() {
		_ = syscall.Kill(-p.pid(), s)
	}
}

// reap kills the group, waits for its leader, and kills what left the group. The leader is waited for after the signals:
// until then its number is not given to another process, and a signal can hit no stranger. The second one is for what
// was started while the first was on its way.
func (p *process) reap() exit {
	p.signal(syscall.SIGKILL)
	<-p.exited
	p.signal(syscall.SIGKILL)
	how := p.leader.reap()
	endStrays(p.home)
	return how
}
