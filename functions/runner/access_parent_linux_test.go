package runner_test

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// raidParent tries to signal the parent of this process, and to set its limits and its priority to what they are.
func raidParent() {
	parent := os.Getppid()
	fmt.Println("look for parent", succeeds(syscall.Kill(parent, 0)))
	fmt.Println("signal parent", succeeds(syscall.Kill(parent, syscall.SIGURG))) // which every program ignores
	var limit unix.Rlimit
	err := unix.Prlimit(parent, unix.RLIMIT_NOFILE, nil, &limit)
	if err == nil {
		err = unix.Prlimit(parent, unix.RLIMIT_NOFILE, &limit, nil)
	}
	fmt.Println("limit parent", succeeds(err))
	nice, err := unix.Getpriority(unix.PRIO_PROCESS, parent) // as the kernel has it: 20 is 0
	if err == nil {
		err = unix.Setpriority(unix.PRIO_PROCESS, parent, 20-nice)
	}
	fmt.Println("slow down parent", succeeds(err))
}
