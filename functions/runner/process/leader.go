package process

import (
	"os"
	"os/exec"
	"syscall"
)

// leader is the first process of a group: a command that we started, or a child that a Server made for us.
type leader interface {
	pid() int

	// held says whether the number is sure to be its own. It is until Reap, as long as whoever made the leader lives.
	held() bool

	// await returns when it has exited.
	await()

	// reap gives the number back, and tells how it ended. It is called once, after await.
	reap() Exit
}

// Exit is how a leader ended.
type Exit struct {
	Status      syscall.WaitStatus
	MaxRSSBytes int64 // the largest resident size that the kernel saw of it or of a child it waited for; 0: not known
	Unknown     bool  // whoever made it has ended, and taken it along, or does not answer: Status is not its own
}

// command is a leader that we started ourselves.
type command struct {
	cmd    *exec.Cmd
	exited <-chan struct{}
}

func (c command) pid() int   { return c.cmd.Process.Pid }
func (c command) held() bool { return true }

func (c command) await() { <-c.exited }

func (c command) reap() Exit {
	_ = c.cmd.Wait() // how it ended stands in ProcessState
	state := c.cmd.ProcessState
	status, _ := state.Sys().(syscall.WaitStatus)
	return Exit{Status: status, MaxRSSBytes: maxRSS(state)}
}

// maxRSS is in bytes.
func maxRSS(state *os.ProcessState) int64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return int64(usage.Maxrss) * rssUnit
}
