package table

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// limitMemory limits the address space of this process.
func limitMemory(bytes uint64) error {
	var now unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &now); err != nil {
		return fmt.Errorf("read the memory limit: %w", err)
	}
	now.Cur = min(now.Cur, bytes)
	if err := unix.Setrlimit(unix.RLIMIT_AS, &now); err != nil {
		return fmt.Errorf("set the memory limit: %w", err)
	}
	return nil
}
