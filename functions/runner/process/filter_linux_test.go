package process

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// others tries calls that limit other processes, and calls that limit this one.
func others(string) error {
	parent := os.Getppid()
	var said []string
	try := func(what string, err error) {
		said = append(said, fmt.Sprintf("%s: %t", what, !errors.Is(err, unix.EPERM)))
	}
	var limit unix.Rlimit
	try("read limit of parent", unix.Prlimit(parent, unix.RLIMIT_NOFILE, nil, &limit))
	try("limit parent", unix.Prlimit(parent, unix.RLIMIT_NOFILE, &limit, nil))
	try("limit itself", unix.Prlimit(0, unix.RLIMIT_NOFILE, &limit, nil))
	try("slow down parent", unix.Setpriority(unix.PRIO_PROCESS, parent, 0))
	try("slow down the group of parent", unix.Setpriority(unix.PRIO_PGRP, unix.Getpgrp(), 0))
	try("slow down its user", unix.Setpriority(unix.PRIO_USER, 0, 0))
	try("slow down itself", unix.Setpriority(unix.PRIO_PROCESS, 0, 0))
	for what, arguments := range map[string][2]uintptr{"parent": {1, uintptr(parent)}, "its user": {3, 0}, "itself": {1, 0}} {
		const bestEffort = 2<<13 | 4 // IOPRIO_CLASS_BE, level 4, the default
		var err error
		if _, _, errno := unix.Syscall(unix.SYS_IOPRIO_SET, arguments[0], arguments[1], bestEffort); errno != 0 {
			err = errno
		}
		try("delay the disk of "+what, err)
	}
	return errors.New(strings.Join(said, ", "))
}

func TestAModuleLimitsNoOtherProcess(t *testing.T) {
	t.Parallel()
	if len(denials()) == 1 {
		t.Skipf("modules are not kept from limiting others on %s", runtime.GOARCH)
	}
	text, err := tried(supervisorWith(t, nil), "others")
	if err != nil {
		t.Fatal(err)
	}
	for what, want := range map[string]bool{
		"read limit of parent": true, "limit parent": false, "limit itself": true,
		"slow down parent": false, "slow down the group of parent": false, "slow down its user": false, "slow down itself": true,
		"delay the disk of parent": false, "delay the disk of its user": false, "delay the disk of itself": true,
	} {
		if !strings.Contains(text, fmt.Sprintf("%s: %t", what, want)) {
			t.Errorf("%s: want %t in %s", what, want, text)
		}
	}
}
