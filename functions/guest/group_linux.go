package guest

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// rssUnit is that of ru_maxrss: kibibytes (getrusage(2)).
const rssUnit = 1 << 10

// groupOfItsOwn makes the child the leader of a new group, killed by the kernel if the worker dies without a word.
func groupOfItsOwn() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// await leaves it a zombie.
func (c command) await() {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, c.pid(), &info, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

const canMeasureMemory = true

// canServeAgain: what a process leaves running can be seen, so a clean one can be told.
const canServeAgain = true

// residentBytes is the resident size of one process, now and at most since it was last asked for
// (proc_pid_status(5), proc_pid_clear_refs(5)). It is 0 where it can't be known.
func residentBytes(pid int) (now, most int64) {
	folder := "/proc/" + strconv.Itoa(pid)
	status, err := os.ReadFile(folder + "/status")
	if err != nil {
		return 0, 0
	}
	_ = os.WriteFile(folder+"/clear_refs", []byte("5"), 0) // else the most is that of all its life
	return statusBytes(status, "VmRSS:"), statusBytes(status, "VmHWM:")
}

// statusBytes finds a line like `VmRSS:   1024 kB`, in which kB means KiB.
func statusBytes(status []byte, name string) int64 {
	for line := range bytes.Lines(status) {
		rest, ok := bytes.CutPrefix(line, []byte(name))
		if !ok {
			continue
		}
		kibibytes, _ := strconv.ParseInt(string(bytes.TrimSuffix(bytes.TrimSpace(rest), []byte(" kB"))), 10, 64)
		return kibibytes << 10
	}
	return 0
}

// groupRSS adds up the resident memory of every process of a group, in bytes. Pages that they share count once for each.
func groupRSS(group int) int64 {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the only error is that of a bad pattern
	var total int64
	for _, path := range stats {
		if text, err := os.ReadFile(path); err == nil { // else it is gone by now
			total += rssIfIn(group, text)
		}
	}
	return total
}

// rssIfIn reads /proc/<pid>/stat (proc_pid_stat(5)): pid (name) state ppid pgrp ... rss, the 24th field, in pages. The
// name may hold anything, so fields are counted from its closing bracket: pgrp is the third after it, rss the 22nd.
func rssIfIn(group int, stat []byte) int64 {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 22 || string(fields[2]) != strconv.Itoa(group) {
		return 0
	}
	pages, err := strconv.ParseInt(string(fields[21]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
