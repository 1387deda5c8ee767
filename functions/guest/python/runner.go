package python

import "os/exec"

// Runner runs a command to its end, as its Run does. All that the command writes is below the folders write, or below one that is given
// to it as TMPDIR.
type Runner func(cmd *exec.Cmd, write ...string) error

// run has the command run by r; nil runs it with the rights of this process.
func (r Runner) run(cmd *exec.Cmd, write ...string) error {
	if r == nil {
		return cmd.Run()
	}
	return r(cmd, write...)
}
