package process

import (
	"bytes"
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// processStat is what /proc/<pid>/stat says of a process (proc_pid_stat(5)): pid (name) state ppid pgrp ... The name may hold
// anything, so fields are counted from its closing bracket.
type processStat struct {
	pid  int
	rest []byte // from the third field on, the state, which comes after the name
}

// field is a field by its number in proc_pid_stat(5), from 4 on; 0 where there is none.
func (p processStat) field(number int) int64 {
	n := 3
	for text := range bytes.FieldsSeq(p.rest) {
		if n == number {
			value, _ := strconv.ParseInt(string(text), 10, 64)
			return value
		}
		n++
	}
	return 0
}

// zombie says whether the process has ended, and is only to be waited for. One whose first thread has exited looks so too as long as
// others of its threads run.
func (p processStat) zombie() bool { return p.headless() && p.field(20) <= 1 }

// headless says whether the first thread of the process has exited.
func (p processStat) headless() bool { return len(p.rest) > 0 && p.rest[0] == 'Z' }

func (p processStat) parent() int { return int(p.field(4)) }
func (p processStat) group() int  { return int(p.field(5)) }

// began is in ticks since the machine started.
func (p processStat) began() int64 { return p.field(22) }

// ofKernel says whether this is a thread of the kernel (PF_KTHREAD), which no process can be.
func (p processStat) ofKernel() bool { return p.field(9)&0x00200000 != 0 }

// newProcessStat copies what it keeps.
func newProcessStat(pid int, text []byte) (p processStat, ok bool) {
	_, rest, ok := bytes.Cut(text[bytes.LastIndexByte(text, ')')+1:], []byte(" "))
	return processStat{pid: pid, rest: bytes.Clone(rest)}, ok
}

// eachProcess goes through the processes that there are, threads of the kernel excepted. A process that ends meanwhile is left out, and
// complete is false: it may have started another one that was not seen.
//
// Files are read by plain system calls: os.ReadFile takes twice as many, and this is done after every job.
func eachProcess(do func(processStat)) (complete bool) {
	proc, err := os.Open("/proc")
	if err != nil {
		return false
	}
	defer func() { _ = proc.Close() }()
	names, err := proc.Readdirnames(-1)
	complete = err == nil
	folder, buffer := int(proc.Fd()), make([]byte, 1<<10) // a stat is shorter
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		text, err := readAt(folder, name+"/stat", buffer)
		p, ok := newProcessStat(pid, text)
		switch {
		case err != nil || !ok:
			complete = false
		case !p.ofKernel():
			do(p)
		}
	}
	return complete
}

// readAt reads up to len(buffer) bytes of a file of /proc.
func readAt(folder int, path string, buffer []byte) ([]byte, error) {
	fd, err := unix.Openat(folder, path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	for {
		n, err := unix.Read(fd, buffer)
		if !errors.Is(err, unix.EINTR) {
			return buffer[:max(n, 0)], err
		}
	}
}
