package process

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
)

// Confinement is what every process of a place is held to by the kernel, besides its memory. What it starts is held to the same.
type Confinement struct {
	Processes int   // that it may add to those its user has already, threads among them; 0: DefaultProcesses. The kernel spares root
	OpenFiles int   // at once; 0: DefaultOpenFiles
	FileBytes int64 // of one file that it writes; 0: no limit
	NoNetwork bool  // not even to this machine: nothing but what it was given
}

// What a process may have where nobody says otherwise: more than TensorFlow takes, less than a machine has.
const (
	DefaultProcesses = 8192
	DefaultOpenFiles = 65536
)

// The environment's words for Confinement.
const (
	networkEnv   = "STOKER_MODULE_NETWORK"    // none, or host, the default
	processesEnv = "STOKER_MODULE_PROCESSES"  // a number
	openFilesEnv = "STOKER_MODULE_OPEN_FILES" // a number
	fileBytesEnv = "STOKER_MODULE_FILE_BYTES" // a number
)

// ConfinementFromEnv reads it from the worker's environment.
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

// Confine holds what is started here from now on. It fails where this machine can't.
func (l *Supervisor) Confine(c Confinement) error {
	c.Processes, c.OpenFiles = cmp.Or(c.Processes, DefaultProcesses), cmp.Or(c.OpenFiles, DefaultOpenFiles)
	if err := c.check(); err != nil {
		return err
	}
	l.confinement = c
	return nil
}
