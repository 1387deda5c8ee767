package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Process is one child, leader of a process group of its own. It is to be ended by End, or by Reap and then Release.
type Process struct {
	Stdin    *os.File // we write
	Output   *os.File // we read its standard output and error
	Progress *os.File // we read its descriptor ProgressFD
	Home     string   // HOME, TMPDIR and working directory
	Cgroup   *Cgroup  // nil: the kernel does not see to its limits
	User     *User    // nil: that of this process

	leader leader
	exited chan struct{}
	family family
	spare  int  // a process with the same user that is not this one's: the server that forked it; 0: none
	leased bool // the user is this process's to give back
}

// ProgressFD is the descriptor that a process has besides the usual three: what it writes there comes out of Progress.
const ProgressFD = 3

// MarkEnv names the home of the process that another one belongs to. Processes that leave its group are found by it.
const MarkEnv = "STOKER_MODULE"

// Command is what a process runs. It waits where it reads its standard input.
type Command struct {
	Line    []string // the program and its arguments
	Env     []string // besides which it has its home and its mark in its environment
	Program *os.File // a sealed copy, which is executed in the place of Line[0]; nil: Line[0] is. It is not closed
	Access  *Access  // nil: that of this process
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

// environment is env with what a process is told of itself.
func (p *Process) environment(env []string, mark string) []string {
	return append(env[:len(env):len(env)], "HOME="+p.Home, "TMPDIR="+p.Home, MarkEnv+"="+mark)
}

// begin makes what belongs to a process, and has launch start its leader with the child's ends of the pipes. server is the process that forks it, whose user it
// has; nil: it has one of its own where there are some.
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

// makeHome makes a folder that is a user's alone.
func makeHome(parent, prefix string, user *User) (home string, err error) {
	if home, err = os.MkdirTemp(parent, prefix); err != nil || user == nil {
		return home, err
	}
	return home, os.Chown(home, user.ID, user.ID)
}

// Files is the path of a folder for what the process is given: the caller makes it, and it goes with the home. With an Access, the process
// can't write there.
func (p *Process) Files() string { return p.Home + "-files" }

// SetBusy says whether the process works for somebody just now. What it starts meanwhile is its own as long as it is busy: see orphans.
func (p *Process) SetBusy(busy bool) { p.family.setBusy(busy) }

// Exited is closed when the leader has exited. Until it is reaped, its number is no one else's.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Dead says whether the leader has exited.
func (p *Process) Dead() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// childEnds are the ends of the pipes that only the child keeps, the folder of the cgroup that it begins in, and what it is held to.
type childEnds struct {
	stdin, output, progress, cgroup *os.File
	confined                        Confinement
	sandbox                         *Sandbox
}

// run starts a command with these ends, in the home and the cgroup of p, and with its user. More files of the command come behind the
// progress. program, if it is not nil, is executed in the place of the command's path.
func (e *childEnds) run(cmd *exec.Cmd, p *Process, program *os.File) (leader, error) {
	cmd.Dir = p.Home
	cmd.Stdin, cmd.Stdout, cmd.Stderr = e.stdin, e.output, e.output
	cmd.ExtraFiles = append([]*os.File{e.progress}, cmd.ExtraFiles...) // the first one is ProgressFD
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

// open makes the pipes. Of each, the other end is p's.
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

// End kills the whole group, waits for its leader, and lets go of what belonged to it.
func (p *Process) End() {
	p.Reap()
	p.Release()
}

// abandon lets go of a process of which something could not be had.
func (p *Process) abandon() {
	if p.exited != nil {
		p.Reap()
	}
	p.Release()
}

// Release closes our ends of the pipes, removes the process's folder and cgroup, and gives its user back.
func (p *Process) Release() {
	closeAll(p.Stdin, p.Output, p.Progress)
	_ = p.Cgroup.end() // as with its folder
	if p.Home != "" {
		_ = os.RemoveAll(p.Home) // a leftover goes with the folder that it is in
		_ = os.RemoveAll(p.Files())
	}
	if p.leased {
		p.User.release()
	}
}

func closeAll(files ...*os.File) {
	for _, file := range files {
		if file != nil {
			_ = file.Close() // pipes: there is nothing that could be lost
		}
	}
}
