package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// entry is what a process does before it executes a program under another user. A worker can't do that from outside: limits of another
// user's processes take a capability that containers have not.
type entry struct {
	User    int                 `json:"user"`
	Limits  map[int]unix.Rlimit `json:"limits"`
	Parent  int                 `json:"parent"`
	Program int                 `json:"program"` // the descriptor of a program to execute in the place of the path; 0: none
	Keep    bool                `json:"keep"`    // the descriptor stays open: the interpreter of a script reads it
}

// command has a command start by Enter. program, if it is not nil, is executed in the place of the command's path.
func (u *User) command(cmd *exec.Cmd, confined Confinement, program *os.File) error {
	if cmd.Err != nil {
		return cmd.Err
	}
	limits, err := confined.limits()
	if err != nil {
		return err
	}
	path, err := filepath.Abs(cmd.Path)
	if err != nil {
		return err
	}
	e := entry{User: u.ID, Limits: limits, Parent: os.Getpid()}
	if program != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, program)
		e.Program, e.Keep = 2+len(cmd.ExtraFiles), IsScript(program)
	}
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	// This program by the name that the kernel has for it: its path may lead to another one by now.
	cmd.Path, cmd.Args = "/proc/self/exe", slices.Concat([]string{os.Args[0], enterArgument, string(text), path}, cmd.Args)
	return nil
}

// enterArgument is the first argument of a program that is to start another one.
const enterArgument = "enter"

// Enter is to be called first in the main function of a program that uses Users, with the program's arguments, its name among them. Where they
// are those of a User's command, it executes the command's program, and returns only with an error. Else told is false.
func Enter(args []string) (told bool, err error) {
	if len(args) < 5 || args[1] != enterArgument {
		return false, nil
	}
	return true, enter(args[2], args[3], args[4:])
}

// enter is Enter with what a command says: an entry, a program and its arguments, its name among them.
func enter(how, path string, line []string) error {
	var e entry
	if err := json.Unmarshal([]byte(how), &e); err != nil {
		return fmt.Errorf("read how to start a program: %w", err)
	}
	runtime.LockOSThread() // users are those of this thread, which becomes the first of the program
	for resource, limit := range e.Limits {
		if err := unix.Setrlimit(resource, &limit); err != nil {
			return fmt.Errorf("set limits: %w", err)
		}
	}
	if err := changeUser(e.User); err != nil {
		return fmt.Errorf("become user %d: %w", e.User, err)
	}
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil { // the change of the user has cleared it
		return err
	}
	if os.Getppid() != e.Parent {
		return errors.New("the worker has ended")
	}
	if e.Program != 0 {
		path = fmt.Sprintf("/proc/self/fd/%d", e.Program)
		if !e.Keep {
			unix.CloseOnExec(e.Program)
		}
	}
	return fmt.Errorf("execute %s as user %d: %w", path, e.User, syscall.Exec(path, line, os.Environ()))
}

// changeUser gives this thread a user and its group, no other group, and no keys of the session that it was started in. Package syscall
// would change all threads, which would count as processes of the user's.
func changeUser(id int) error {
	_, _, errno := unix.RawSyscall(unix.SYS_KEYCTL, unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0)
	if errno != 0 && errno != unix.ENOSYS && errno != unix.EPERM { // what is forbidden here is so for the program, too
		return errno
	}
	n := uintptr(id)
	for _, call := range [][4]uintptr{{unix.SYS_SETGROUPS}, {unix.SYS_SETRESGID, n, n, n}, {unix.SYS_SETRESUID, n, n, n}} {
		if _, _, errno := unix.RawSyscall(call[0], call[1], call[2], call[3]); errno != 0 {
			return errno
		}
	}
	return nil
}
