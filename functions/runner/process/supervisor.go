package process

import (
	"errors"
	"os"

	"github.com/stoker-ml/stoker/functions/scratch"
)

// Place is where processes live: a folder with their homes and, where the kernel limits their memory, a cgroup with theirs.
// Its methods may be called from several goroutines at once.
type Supervisor struct {
	dir     string
	cgroups *cgroups // nil: nobody but their callers limits what lives here
	close   func() error

	confinement Confinement
	users       *Users // nil: what lives here has the user of this process
}

// Open makes a place, to be closed. cgroup is the one to divide: own, a path, or "" for none; see the package comment. It clears
// up after processes that were killed and had places: their folders are removed, and what they left running is ended.
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

// Dir is the folder with the homes.
func (l *Supervisor) Dir() string { return l.dir }

// Confinement returns what Confine was told last, with its defaults.
func (l *Supervisor) Confinement() Confinement { return l.confinement }

// UseUsers gives what is started here from now on users of their own; nil: that of this process.
func (l *Supervisor) UseUsers(users *Users) error {
	l.users = users
	if users == nil {
		return nil
	}
	return os.Chmod(l.dir, 0o711) // each home is its user's alone
}

// Users are those of UseUsers.
func (l *Supervisor) Users() *Users { return l.users }

// LimitedBy says which way memory is limited here, for the log.
func (l *Supervisor) LimitedBy() string { return l.cgroups.String() }

// Close removes what is left of the processes. Running ones are their callers' to end, before.
func (l *Supervisor) Close() error { return errors.Join(l.close(), l.cgroups.end()) }
