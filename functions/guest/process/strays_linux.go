package process

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// strayTime bounds the search for processes that left their group: one that starts others faster than they can be found
// is left to the container around the worker.
const strayTime = time.Second

// endStrays kills the processes whose mark is home or lies below it, and waits until they have ended. Their numbers can
// hit no stranger: a pidfd is opened first, and the mark read after that.
func endStrays(home string) {
	for end := time.Now().Add(strayTime); time.Now().Before(end); {
		strays := findStrays(home)
		for _, pid := range strays {
			endStray(pid, home, end)
		}
		if len(strays) == 0 {
			return
		}
	}
}

// Alone says whether nothing but the leader runs on the process's behalf.
func (p *Process) Alone() bool {
	only := []int{p.PID()}
	return slices.Equal(findStrays(p.Home), only) && !p.hasChildren() && !p.family.hasOrphans() && (p.Cgroup == nil || slices.Equal(p.Cgroup.processes(), only))
}

// hasChildren finds what has no mark yet: for a moment of its exec a process has no environment.
func (p *Process) hasChildren() (found bool) {
	leader := strconv.Itoa(p.PID())
	eachStat(func(pid int, stat []byte) {
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // state, ppid, pgrp, ...
		if len(fields) < 3 || pid == p.PID() || string(fields[0]) == "Z" {
			return
		}
		found = found || string(fields[1]) == leader || string(fields[2]) == leader
	})
	return found
}

func findStrays(home string) (pids []int) {
	eachPID(func(pid int) {
		if pid != os.Getpid() && marked(pid, home) {
			pids = append(pids, pid)
		}
	})
	return pids
}

// endStray does nothing where the process is gone by now, or the kernel knows no pidfd (before Linux 5.3).
func endStray(pid int, home string, end time.Time) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if !marked(pid, home) || unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) != nil {
		return
	}
	awaitPidfd(fd, end)
}

// awaitPidfd returns when the process has ended (its pidfd can be read then), or at end.
func awaitPidfd(fd int, end time.Time) {
	for {
		left := max(0, time.Until(end).Milliseconds())
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(left))
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// marked says whether a process has the mark of the one that home belongs to. It is false for one whose environment this
// user may not read, and for one that has ended.
func marked(pid int, home string) bool {
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && hasMark(environ, home)
}

// hasMark reads /proc/<pid>/environ (proc_pid_environ(5)): name=value pairs, each ended by a zero byte.
func hasMark(environ []byte, home string) bool {
	for pair := range bytes.SplitSeq(environ, []byte{0}) {
		mark, ok := strings.CutPrefix(string(pair), MarkEnv+"=")
		if ok && (mark == home || strings.HasPrefix(mark, home+"/")) {
			return true
		}
	}
	return false
}
