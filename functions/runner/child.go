package runner

import (
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner/process"
)

// child is a process that works on assignments.
type child struct {
	*process.Process

	digest string          // of the module that it runs, as Runner.Digest has it; "" where nothing can have changed that since
	access *process.Access // that it was started with for one job; nil: it has none, or enters a sandbox when it is told its job
	served int             // assignments that it has worked on
	idled  bool            // it has waited for one, and may have left meanwhile

	looked   time.Time     // when somebody last looked for processes that it left running
	lookTook time.Duration // how long that look took, on a machine with many processes
}

// start starts a program, which waits on its standard input.
func (h *Runner) start(p program, env []string) (*child, error) {
	sealed, err := h.executable(p)
	if err != nil {
		return nil, fail(KindHost, err)
	}
	if sealed != nil && p.sealed == nil {
		defer sealed.Close()
	}
	running, err := h.supervisor.Start(process.Command{Line: p.line, Env: speaking(env), Program: sealed, Access: p.access})
	if err != nil {
		return nil, fail(KindHost, err)
	}
	return &child{Process: running, digest: p.digest, access: p.access}, nil
}

// executable is what is executed in the place of a program's path; nil: that is. Users of modules need not reach Stoker's own programs.
func (h *Runner) executable(p program) (*os.File, error) {
	switch {
	case p.sealed != nil || !h.users.on():
		return p.sealed, nil
	case p.ours:
		return os.Open(p.line[0])
	default:
		return nil, h.users.reach(p.line[0])
	}
}

// speaking is env with the word for where progress is told.
func speaking(env []string) []string {
	return append(slices.Clip(env), module.ProgressEnv+"="+strconv.Itoa(process.ProgressFD))
}
