package process

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// HideSecrets keeps other processes of the same user, those started here among them, from reading this one's environment and memory,
// where the credentials of the bus and the store are (PR_SET_DUMPABLE(2const)).
func HideSecrets() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("hide this process's memory from modules: %w", err)
	}
	return nil
}
