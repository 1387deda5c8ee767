//go:build !linux

package process

import (
	"errors"
	"io"
	"os"
	"os/exec"
)

// Seal only opens the program here, and has sum see it: what is executed is the file of that name.
func Seal(path string, sum io.Writer) (program *os.File, err error) {
	if program, err = os.Open(path); err != nil || sum == nil {
		return program, err
	}
	if _, err = io.Copy(sum, program); err != nil {
		return nil, errors.Join(err, program.Close())
	}
	return program, nil
}

// execute has a command execute a program by its name.
func execute(cmd *exec.Cmd, program *os.File) { cmd.Path = program.Name() }
