package python

import "os/exec"

// Runner runs a command to its end, as its Run does. The command writes below a folder that it gets
// as TMPDIR, and as needs says.
type Runner func(cmd *exec.Cmd, needs Needs) error

// Needs are the rights that a command needs. Most need none.
type Needs struct {
	Write   []string // folders that it writes in
	Network bool     // it installs packages from a registry
}

// run has the command run by r; nil runs it with the rights of this process.
func (r Runner) run(cmd *exec.Cmd, needs Needs) error {
	if r == nil {
		return cmd.Run()
	}
	return r(cmd, needs)
}
