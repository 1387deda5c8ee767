package process

import (
	"errors"
	"fmt"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// forked is a leader that a Server made. It is the server's child, which alone can wait for it: a pidfd tells us when it has
// exited, and the server keeps it a zombie until it is told to reap.
type forked struct {
	server *ForkServer
	number int
	pidfd  int
	reaped func() // called at the end of reap
}

// Fork has the server make a process in the place where it lives itself. reaped is called when that has been waited for.
func (s *ForkServer) Fork(reaped func()) (*Process, error) {
	return s.supervisor.begin("a child of process "+strconv.Itoa(s.PID()), s.Process, func(p *Process, ends *childEnds) (leader, error) {
		answer, err := s.ask(map[string]string{"fork": p.Home}, ends.stdin, ends.output, ends.progress)
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
		if err = p.Cgroup.move(answer.PID); err != nil { // it has allocated next to nothing yet
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
func (f *forked) held() bool { return !f.server.Dead() }

func (f *forked) await() {
	for {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(f.pidfd), Events: unix.POLLIN}}, -1)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

func (f *forked) reap() Exit {
	defer f.reaped()
	_ = unix.Close(f.pidfd)
	answer, err := f.server.ask(map[string]int{"reap": f.number})
	if err != nil {
		return Exit{Status: syscall.WaitStatus(syscall.SIGKILL), Unknown: true}
	}
	return Exit{Status: syscall.WaitStatus(answer.Status), MaxRSSBytes: answer.MaxRSS * rssUnit}
}
