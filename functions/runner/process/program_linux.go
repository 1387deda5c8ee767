package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// programFD is the lowest descriptor of a sealed program. Those of a child's own, which are set up before it executes the program, are
// lower.
const programFD = 100

// Seal returns a copy of a program that no process can change, not even one of the same user: it is memory without a name
// (memfd_create(2)). Where the kernel forbids programs in such memory (sysctl vm.memfd_noexec), it is the file itself. The copy is to be
// closed; a process that runs it goes on. sum, if it is not nil, sees all that is copied.
func Seal(path string, sum io.Writer) (program *os.File, err error) {
	from, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	fd, err := unix.MemfdCreate("module", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		fd, err = unix.MemfdCreate("module", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if sum == nil {
		sum = io.Discard
	}
	if err != nil {
		if _, err := io.Copy(sum, from); err != nil {
			return nil, err
		}
		return moveUp(from, path)
	}
	memory := os.NewFile(uintptr(fd), path)
	defer func() { err = errors.Join(err, memory.Close()) }()
	if _, err := io.Copy(io.MultiWriter(memory, sum), from); err != nil {
		return nil, err
	}
	if _, err := unix.FcntlInt(memory.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SEAL|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE); err != nil {
		return nil, fmt.Errorf("seal a copy of %s: %w", path, err)
	}
	return moveUp(memory, path)
}

// moveUp is the file by another descriptor, which a child does not use for its own.
func moveUp(file *os.File, path string) (*os.File, error) {
	fd, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, programFD)
	if err != nil {
		return nil, fmt.Errorf("keep a copy of %s: %w", path, err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

// execute has a command execute a sealed program, of which it inherits the descriptor until then. The interpreter of a script opens it after
// that: the process keeps the descriptor, behind its other ones.
func execute(cmd *exec.Cmd, program *os.File) {
	fd := int(program.Fd())
	if IsScript(program) {
		cmd.ExtraFiles = append(cmd.ExtraFiles, program)
		fd = 2 + len(cmd.ExtraFiles)
	}
	cmd.Path = fmt.Sprintf("/proc/self/fd/%d", fd)
}
