package guest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/stoker-ml/stoker/functions/module"
)

// process is one child, leader of a process group of its own.
type process struct {
	leader   leader
	stdin    *os.File // we write the assignment
	output   *os.File // we read its standard output and error
	progress *os.File // we read messages
	home     string   // HOME, TMPDIR and working directory
	cgroup   *cgroup  // nil: nothing but the worker sees to its limits

	exited chan struct{} // closed when the leader has exited; until it is reaped, its number is no one else's
	served int           // assignments that it has worked on
	idled  bool          // it has waited for one, and may have left meanwhile
}

// markEnv names the home of the module that a process belongs to. Processes that leave its group are found by it.
const markEnv = "STOKER_MODULE"

// start runs a command, with a home in dir and a cgroup of cgroups. The process waits on its standard input.
func start(dir string, cgroups *cgroups, line, env []string) (*process, error) {
	return begin(dir, cgroups, line[0], func(p *process, ends *childEnds) (leader, error) {
		cmd := exec.Command(line[0], line[1:]...)
		cmd.Env = append(env[:len(env):len(env)], "HOME="+p.home, "TMPDIR="+p.home, markEnv+"="+p.home, module.ProgressEnv+"=3")
		return ends.run(cmd, p)
	})
}

// begin makes what belongs to a process, and has launch start its leader with the child's ends of the pipes.
func begin(dir string, cgroups *cgroups, name string, launch func(*process, *childEnds) (leader, error)) (p *process, err error) {
	p = &process{}
	defer func() {
		if err != nil {
			p.abandon()
			p, err = nil, fail(KindHost, fmt.Errorf("start %s: %w", name, err))
		}
	}()
	if p.home, err = os.MkdirTemp(dir, "module-"); err != nil {
		return p, err
	}
	if p.cgroup, err = cgroups.open(filepath.Base(p.home)); err != nil {
		return p, err
	}
	var ends childEnds
	defer ends.close()
	if err = ends.open(p); err != nil {
		return p, err
	}
	if p.leader, err = launch(p, &ends); err != nil {
		return p, err
	}
	p.exited = make(chan struct{})
	go func() { defer close(p.exited); p.leader.await() }() // reap waits for it
	return p, p.cgroup.adopt(p.pid())
}

// dead says whether the leader has exited.
func (p *process) dead() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// childEnds are the ends of the pipes that only the child keeps, and the folder of the cgroup that it begins in.
type childEnds struct{ stdin, output, progress, cgroup *os.File }

// run starts a command with these ends, in the home and the cgroup of p. More files of the command come behind the progress.
func (e *childEnds) run(cmd *exec.Cmd, p *process) (leader, error) {
	cmd.Dir = p.home
	cmd.Stdin, cmd.Stdout, cmd.Stderr = e.stdin, e.output, e.output
	cmd.ExtraFiles = append([]*os.File{e.progress}, cmd.ExtraFiles...) // the first one is descriptor 3
	cmd.SysProcAttr = groupOfItsOwn()
	var err error
	if e.cgroup, err = p.cgroup.startIn(cmd.SysProcAttr); err != nil {
		return nil, err
	}
	return command{cmd}, cmd.Start()
}

// open makes the pipes. Of each, the other end is p's.
func (e *childEnds) open(p *process) (err error) {
	if e.stdin, p.stdin, err = os.Pipe(); err != nil {
		return err
	}
	if p.output, e.output, err = os.Pipe(); err != nil {
		return err
	}
	p.progress, e.progress, err = os.Pipe()
	return err
}

func (e *childEnds) close() { closeAll(e.stdin, e.output, e.progress, e.cgroup) }

// end kills the whole group, waits for its leader, and lets go of what belonged to it.
func (p *process) end() {
	p.reap()
	p.release()
}

// abandon lets go of a process of which something could not be had.
func (p *process) abandon() {
	if p.exited != nil {
		p.reap()
	}
	p.release()
}

// release closes our ends of the pipes and removes the process's folder and cgroup.
func (p *process) release() {
	closeAll(p.stdin, p.output, p.progress)
	_ = p.cgroup.end() // as with its folder
	if p.home != "" {
		_ = os.RemoveAll(p.home) // a leftover goes with the folder that it is in
	}
}

func closeAll(files ...*os.File) {
	for _, file := range files {
		if file != nil {
			_ = file.Close() // pipes: there is nothing that could be lost
		}
	}
}
