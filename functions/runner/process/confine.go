package process

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Confinement limits every process of a supervisor by the kernel, in addition to its memory. It
// applies to everything that the process starts.
type Confinement struct {
	// the processes, including threads, that it may add to those of its user; 0: DefaultProcesses.
	// The kernel exempts root
	Processes int
	OpenFiles int   // open at once; 0: DefaultOpenFiles
	FileBytes int64 // size of one file that it writes; 0: no limit
	NoNetwork bool  // not even to this machine
}

// Default limits of a process: more than TensorFlow needs, less than a machine has.
const (
	DefaultProcesses = 8192
	DefaultOpenFiles = 65536
)

// Environment variables that set a Confinement.
const (
	networkEnv   = "STOKER_MODULE_NETWORK"    // none, or host, the default
	processesEnv = "STOKER_MODULE_PROCESSES"  // a number
	openFilesEnv = "STOKER_MODULE_OPEN_FILES" // a number
	fileBytesEnv = "STOKER_MODULE_FILE_BYTES" // a number
)

// ConfinementFromEnv reads a Confinement from the worker's environment.
func ConfinementFromEnv() (c Confinement, err error) {
	switch network := cmp.Or(os.Getenv(networkEnv), "host"); network {
	case "none":
		c.NoNetwork = true
	case "host":
	default:
		return c, fmt.Errorf("%s is %q: expected none or host", networkEnv, network)
	}
	for name, into := range map[string]func(int64){
		processesEnv: func(n int64) { c.Processes = int(n) },
		openFilesEnv: func(n int64) { c.OpenFiles = int(n) },
		fileBytesEnv: func(n int64) { c.FileBytes = n },
	} {
		text := os.Getenv(name)
		if text == "" {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 {
			return c, fmt.Errorf("%s is %q: expected a number from 1", name, text)
		}
		into(n)
	}
	return c, nil
}

// Confine limits processes that are started from now on. It fails if this machine can't.
func (l *Supervisor) Confine(c Confinement) error {
	c.Processes, c.OpenFiles = cmp.Or(c.Processes, DefaultProcesses), cmp.Or(c.OpenFiles, DefaultOpenFiles)
	if err := c.check(); err != nil {
		return err
	}
	l.confinement = c
	return nil
}

// SandboxEnv names the variable that determines whether modules have a Sandbox: auto, the default,
// if the kernel supports it; required, or off.
const SandboxEnv = "STOKER_MODULE_SANDBOX"

// Access is what a process and all that it starts may do with files, if the kernel can enforce it:
// see Sandbox.
type Access struct {
	Hidden []string // files and directories that it can't read, whether they exist by now or not
	// Existing directories and files. It can write nowhere else except in its home, in shared
	// memory and to devices, and never to hidden ones.
	Write []string
}

// Sandbox is an Access in the kernel's terms (landlock(7)), for a process to enter by itself:
// rights are bits LANDLOCK_ACCESS_FS_*.
type Sandbox struct {
	Handled uint64 `json:"handled"` // rights that are refused unless a rule grants them
	Scoped  uint64 `json:"scoped"`  // LANDLOCK_SCOPE_*
	Rules   []Rule `json:"rules"`

	// a process that enters it by itself enters with all its threads, see CanSandboxThreads
	AllThreads bool `json:"all_threads"`
	// a process may enter it by itself although its other threads stay outside
	SpareThreads bool `json:"spare_threads"`
}

// Rule grants rights on a file, or on a directory with everything below it.
type Rule struct {
	Path   string `json:"path"`
	Rights uint64 `json:"rights"`
}

// UserEnv names the variable that determines whether each process of a module has a user ID of its
// own: off, the default; on, which is defaultUsers; or a range of IDs that nothing else on the
// machine uses, such as 70000-70499.
const UserEnv = "STOKER_MODULE_USER"

// defaultUsers are IDs that distributions leave free: below those that systemd assigns (61184),
// above those of login users.
const defaultUsers = "60600-61099"

// Limits of a range. Lower IDs are for the system and for login users; a larger range would only
// cost a check of each ID.
const (
	leastUser = 1000
	fewUsers  = 16
	mostUsers = 100_000
)

// User is a user ID, with the group of the same number, that only one process and everything it
// starts have. They are in no other group. A nil User is that of this process.
type User struct {
	ID    int
	users *Users
	free  func() // gives the ID back
}

// release gives the ID back. No process may have it any more.
func (u *User) release() {
	if u != nil {
		u.free()
	}
}

// parseUsers parses a value of UserEnv. ok is false if modules have the user of the worker.
func parseUsers(text string) (first, last int, ok bool, err error) {
	switch text {
	case "", "off":
		return 0, 0, false, nil
	case "on":
		text = defaultUsers
	}
	from, to, isRange := strings.Cut(text, "-")
	first, errFirst := strconv.Atoi(from)
	last, errLast := strconv.Atoi(to)
	if !isRange || errFirst != nil || errLast != nil {
		return 0, 0, false, fmt.Errorf("%s is %q: expected on, off or a range of user IDs like %s", UserEnv, text, defaultUsers)
	}
	if count := last - first + 1; first < leastUser || count < fewUsers || count > mostUsers {
		return 0, 0, false, fmt.Errorf("%s is %q: expected from %d to %d user IDs, the first one not below %d", UserEnv, text, fewUsers, mostUsers, leastUser)
	}
	return first, last, true, nil
}
