package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// Process is a child, the leader of a process group of its own. The caller ends it with End, or
// with Reap and then Release.
type Process struct {
	Stdin    *os.File // the parent writes to it
	Output   *os.File // the parent reads the child's standard output and error from it
	Progress *os.File // the parent reads the child's descriptor ProgressFD from it
	Home     string   // HOME, TMPDIR and working directory
	Cgroup   *Cgroup  // nil: the kernel does not enforce its memory limit
	User     *User    // nil: that of this process

	leader leader
	exited chan struct{}
	family family
	// a process with the same user that is not part of this one: the server that forked it; 0: none
	spare  int
	leased bool // the process has to give the user back
}

// ProgressFD is the descriptor that a process has in addition to the usual three: what it writes
// there is read from Progress.
const ProgressFD = 3

// MarkEnv names the variable with the home of the process that another one belongs to. It
// identifies processes that leave the group.
const MarkEnv = "STOKER_MODULE"

// Command is the program that a process runs. It waits when it reads its standard input.
type Command struct {
	Line []string // the program and its arguments
	Env  []string // in addition to which its environment has its home and its mark
	// A sealed copy that is executed in place of Line[0]; nil: Line[0] is. It is not closed.
	Program *os.File
	Access  *Access // nil: that of this process
}

// Start runs a command.
func (l *Supervisor) Start(c Command) (*Process, error) {
	return l.begin(c.Line[0], nil, func(p *Process, ends *childEnds) (leader, error) {
		cmd := exec.Command(c.Line[0], c.Line[1:]...)
		if c.Program != nil {
			cmd.Err = nil // the path is not looked for
		}
		cmd.Env = p.environment(c.Env, p.Home)
		if c.Access != nil {
			ends.sandbox = c.Access.Sandbox(p.Home)
		}
		return ends.run(cmd, p, c.Program)
	})
}

// environment returns env with a process's own variables.
func (p *Process) environment(env []string, mark string) []string {
	return append(env[:len(env):len(env)], "HOME="+p.Home, "TMPDIR="+p.Home, MarkEnv+"="+mark)
}

// begin makes everything that belongs to a process, and calls launch to start its leader with the
// child's ends of the pipes. server is the process that forks it, whose user it has; nil: it has
// one of its own if there are users.
func (l *Supervisor) begin(name string, server *Process, launch func(*Process, *childEnds) (leader, error)) (p *Process, err error) {
	p = &Process{}
	defer func() {
		if err != nil {
			p.abandon()
			p, err = nil, fmt.Errorf("start %s: %w", name, err)
		}
	}()
	if server != nil {
		p.User, p.spare = server.User, server.PID()
	} else if p.User, err = l.users.lease(); err != nil {
		return p, err
	}
	p.leased = server == nil
	if p.Home, err = makeHome(l.dir, "module-", p.User); err != nil {
		return p, err
	}
	if p.Cgroup, err = l.cgroups.open(filepath.Base(p.Home)); err != nil {
		return p, err
	}
	ends := childEnds{confined: l.confinement}
	defer ends.close()
	if err = ends.open(p); err != nil {
		return p, err
	}
	if p.leader, err = launch(p, &ends); err != nil {
		return p, err
	}
	p.exited = make(chan struct{})
	go func() { defer close(p.exited); p.leader.await() }() // Reap waits for it
	return p, p.Cgroup.adopt(p.PID())
}

// makeHome makes a directory that belongs to a user alone.
func makeHome(parent, prefix string, user *User) (home string, err error) {
	if home, err = os.MkdirTemp(parent, prefix); err != nil || user == nil {
		return home, err
	}
	return home, os.Chown(home, user.ID, user.ID)
}

// Files returns the path of a directory for files that the process is given. The caller makes it,
// and it is removed with the home. With an Access, the process can't write there.
func (p *Process) Files() string { return p.Home + "-files" }

// SetBusy sets whether the process is working for a caller. Processes that it starts meanwhile
// belong to it for as long as it is busy: see orphans.
func (p *Process) SetBusy(busy bool) { p.family.setBusy(busy) }

// Exited returns a channel that is closed when the leader has exited. Until it is reaped, its id is
// not reused.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Dead reports whether the leader has exited.
func (p *Process) Dead() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// childEnds are the ends of the pipes that only the child keeps, the directory of the cgroup that
// it begins in, and its limits.
type childEnds struct {
	stdin, output, progress, cgroup *os.File
	confined                        Confinement
	sandbox                         *Sandbox
}

// run starts a command with these ends, in the home and the cgroup of p, and with its user. More
// files of the command come after the progress. program, if it is not nil, is executed instead of
// the command's path.
func (e *childEnds) run(cmd *exec.Cmd, p *Process, program *os.File) (leader, error) {
	cmd.Dir = p.Home
	cmd.Stdin, cmd.Stdout, cmd.Stderr = e.stdin, e.output, e.output
	// The first one is ProgressFD.
	cmd.ExtraFiles = append([]*os.File{e.progress}, cmd.ExtraFiles...)
	cmd.SysProcAttr = groupOfItsOwn()
	e.confined.isolate(cmd.SysProcAttr)
	var err error
	switch {
	case p.User != nil:
		if err := p.User.command(cmd, e.confined, program); err != nil {
			return nil, err
		}
	case program != nil:
		execute(cmd, program)
	}
	if e.cgroup, err = p.Cgroup.startIn(cmd.SysProcAttr); err != nil {
		return nil, err
	}
	begun, err := p.family.launch(cmd, e.sandbox)
	if err != nil {
		return nil, err
	}
	if p.User != nil {
		return command{cmd, begun}, nil // it sets its limits by itself
	}
	if err := errors.Join(e.confined.mapUser(cmd.Process.Pid), e.confined.limit(cmd.Process.Pid)); err != nil {
		p.family.leave()
		return nil, errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	return command{cmd, begun}, nil
}

// open makes the pipes. The other end of each is p's.
func (e *childEnds) open(p *Process) (err error) {
	if e.stdin, p.Stdin, err = os.Pipe(); err != nil {
		return err
	}
	if p.Output, e.output, err = os.Pipe(); err != nil {
		return err
	}
	p.Progress, e.progress, err = os.Pipe()
	return err
}

func (e *childEnds) close() { closeAll(e.stdin, e.output, e.progress, e.cgroup) }

// End kills the whole group, waits for its leader, and releases the process's resources.
func (p *Process) End() {
	p.Reap()
	p.Release()
}

// abandon releases a process that could not be completed.
func (p *Process) abandon() {
	if p.exited != nil {
		p.Reap()
	}
	p.Release()
}

// Release closes this side of the pipes, removes the process's directory and cgroup, and gives its
// user back.
func (p *Process) Release() {
	closeAll(p.Stdin, p.Output, p.Progress)
	_ = p.Cgroup.end() // as with its directory
	if p.Home != "" {
		_ = os.RemoveAll(p.Home) // a leftover is removed with the directory that it is in
		_ = os.RemoveAll(p.Files())
	}
	if p.leased {
		p.User.release()
	}
}

func closeAll(files ...*os.File) {
	for _, file := range files {
		if file != nil {
			_ = file.Close() // pipes: nothing can be lost
		}
	}
}

// PID returns the leader's process ID, which is also the group's.
func (p *Process) PID() int { return p.leader.pid() }

// Signal sends a signal to the whole group, unless the group is gone or its id may have been
// reused.
func (p *Process) Signal(s syscall.Signal) {
	if p.leader.held() {
		_ = syscall.Kill(-p.PID(), s)
	}
}

// Reap kills the group, waits for its leader, and kills the processes that left the group. It waits
// for the leader after the signals: until then the id is not reused, and a signal can't reach
// another process. The second signal is for processes that were started while the first was sent.
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

// leader is the first process of a group: a command that this process started, or a child that a
// ForkServer made.
type leader interface {
	pid() int

	// held reports whether the id is certainly the leader's own. It is until Reap, as long as its
	// parent lives.
	held() bool

	// await returns when it has exited.
	await()

	// reap frees the id, and returns how the leader ended. It is called once, after await.
	reap() Exit
}

// Exit is how a leader ended.
type Exit struct {
	Status syscall.WaitStatus
	// The largest resident size that the kernel saw of it or of a child that it waited for; 0: not
	// known.
	MaxRSSBytes int64
	// its parent has ended, and it with it, or does not answer: Status is not its own
	Unknown bool
}

// command is a leader that this process started.
type command struct {
	cmd    *exec.Cmd
	exited <-chan struct{}
}

func (c command) pid() int   { return c.cmd.Process.Pid }
func (c command) held() bool { return true }

func (c command) await() { <-c.exited }

func (c command) reap() Exit {
	_ = c.cmd.Wait() // ProcessState tells how it ended
	state := c.cmd.ProcessState
	status, _ := state.Sys().(syscall.WaitStatus)
	return Exit{Status: status, MaxRSSBytes: maxRSS(state)}
}

// maxRSS returns bytes.
func maxRSS(state *os.ProcessState) int64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return int64(usage.Maxrss) * rssUnit
}
