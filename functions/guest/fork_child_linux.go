package guest

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// forked is a leader that a fork server made. It is the server's child, which alone can wait for it: a pidfd tells us when it has
// exited, and the server keeps it a zombie until it is told to reap.
type forked struct {
	server *forkServer
	number int
	pidfd  int
	reaped func() // called at the end of reap
}

// fork has the server make a process, with a home in dir and a cgroup of cgroups. reaped is called when it has been waited for.
func (s *forkServer) fork(dir string, cgroups *cgroups, reaped func()) (*process, error) {
	return begin(dir, cgroups, "a warm process", func(p *process, ends *childEnds) (leader, error) {
		answer, err := s.ask(map[string]string{"fork": p.home}, ends.stdin, ends.output, ends.progress)
		if err != nil {
			return nil, err
		}
		if answer.Refused != "" || answer.PID <= 0 {
			return nil, fmt.Errorf("it can't fork: %s", answer.Refused)
		}
		child := &forked{server: s, number: answer.PID, reaped: reaped}
		if child.pidfd, err = unix.PidfdOpen(answer.PID, 0); err != nil {
			return nil, errors.Join(fmt.Errorf("hold on to process %d: %w", answer.PID, err), child.drop())
		}
		if err = p.cgroup.move(answer.PID); err != nil { // it has allocated next to nothing yet
			return nil, errors.Join(err, unix.Close(child.pidfd), child.drop())
		}
		return child, nil
	})
}

// drop ends a child that has not begun.
func (f *forked) drop() error {
	if err := syscall.Kill(f.number, syscall.SIGKILL); err != nil {
		return err
	}
	_, err := f.server.ask(map[string]int{"reap": f.number})
	return err
}

func (f *forked) pid() int { return f.number }

// held: once the server is gone, its children are, and their numbers are given to others.
func (f *forked) held() bool { return !f.server.process.dead() }

func (f *forked) await() {
	for {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(f.pidfd), Events: unix.POLLIN}}, -1)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

func (f *forked) reap() exit {
	defer f.reaped()
	_ = unix.Close(f.pidfd)
	answer, err := f.server.ask(map[string]int{"reap": f.number})
	if err != nil {
		return exit{status: syscall.WaitStatus(syscall.SIGKILL), unknown: true}
	}
	return exit{status: syscall.WaitStatus(answer.Status), maxRSSBytes: answer.MaxRSS * rssUnit}
}
