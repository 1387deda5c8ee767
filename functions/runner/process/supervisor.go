package process

import (
	"errors"
	"os"

	"github.com/stoker-ml/stoker/functions/scratch"
)

// Supervisor starts processes and cleans up after them. It has a directory with their homes and, if
// the kernel limits their memory, a cgroup with theirs. Its methods may be called by several
// goroutines at once.
type Supervisor struct {
	dir     string
	cgroups *cgroups // nil: only the callers limit the memory of its processes
	close   func() error

	confinement Confinement
	users       *Users // nil: its processes have the user of this process
}

// Open makes a supervisor. The caller closes it. cgroup is the one to divide: own, a path, or ""
// for none; see the package comment. It cleans up after supervisors whose processes were killed: it
// removes their directories, and ends the processes that they left running.
func Open(cgroup string) (*Supervisor, error) {
	cgroups, err := openCgroups(cgroup)
	if err != nil {
		return nil, err
	}
	if err := adoptOrphans(); err != nil {
		return nil, errors.Join(err, cgroups.end())
	}
	homes, err := scratch.Open("", endStrays)
	if err != nil {
		return nil, errors.Join(err, cgroups.end())
	}
	return &Supervisor{dir: homes.Path(), cgroups: cgroups, close: homes.Close}, nil
}

// Dir returns the directory with the homes.
func (l *Supervisor) Dir() string { return l.dir }

// Confinement returns the argument of the last Confine, with its defaults.
func (l *Supervisor) Confinement() Confinement { return l.confinement }

// UseUsers gives processes that are started from now on users of their own; nil: that of this
// process.
func (l *Supervisor) UseUsers(users *Users) error {
	l.users = users
	if users == nil {
		return nil
	}
	return os.Chmod(l.dir, 0o711) // each home belongs to its user alone
}

// Users returns the argument of UseUsers.
func (l *Supervisor) Users() *Users { return l.users }

// LimitedBy describes, for the log, how memory is limited.
func (l *Supervisor) LimitedBy() string { return l.cgroups.String() }

// Close removes what is left of the processes. Callers end running processes first.
func (l *Supervisor) Close() error { return errors.Join(l.close(), l.cgroups.end()) }

// IsScript reports whether the kernel runs a program with an interpreter that its first line names.
func IsScript(program *os.File) bool {
	var first [2]byte
	_, err := program.ReadAt(first[:], 0)
	return err == nil && string(first[:]) == "#!"
}
