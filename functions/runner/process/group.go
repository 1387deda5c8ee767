//go:build unix

package process

import "syscall"

// PID is that of the leader, and so the group's number.
func (p *Process) PID() int { return p.leader.pid() }

// Signal sends to the whole group. A group that is gone needs none, and one whose number may be another's by now gets none.
func (p *Process) Signal(s syscall.Signal) {
	if p.leader.held() {
		_ = syscall.Kill(-p.PID(), s)
	}
}

// Reap kills the group, waits for its leader, and kills what left the group. The leader is waited for after the signals:
// until then its number is not given to another process, and a signal can hit no stranger. The second one is for what
// was started while the first was on its way.
func (p *Process) Reap() Exit {
	p.Signal(syscall.SIGKILL)
	<-p.exited
	p.Signal(syscall.SIGKILL)
	how := p.leader.reap()
	p.family.leave()
	endStrays(p.Home)
	p.User.endAll(p.spare)
	endOrphans()
	return how
}
