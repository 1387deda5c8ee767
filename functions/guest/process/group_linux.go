package process

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// rssUnit is that of ru_maxrss: kibibytes (getrusage(2)).
const rssUnit = 1 << 10

// groupOfItsOwn makes the child the leader of a new group, killed by the kernel if the worker dies without a word.
func groupOfItsOwn() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// CanMeasureMemory says whether limits of memory can hold here.
const CanMeasureMemory = true

// CanSeeStrays says whether Alone tells what a process has left running.
const CanSeeStrays = true

// ResidentBytes is the resident size of the leader, now and at most since it was last asked for. It is 0 where it can't be
// known.
func (p *Process) ResidentBytes() (now, most int64) { return residentBytes(p.PID()) }

// GroupMemoryBytes adds up the resident memory of every process of the group. Pages that they share count once for each.
func (p *Process) GroupMemoryBytes() (total int64) {
	eachStat(func(_ int, stat []byte) { total += rssIfIn(p.PID(), stat) })
	return total
}

// GroupCPU adds up the CPU time of every process of the group, with that of children that they waited for.
func (p *Process) GroupCPU() (total time.Duration) {
	eachStat(func(_ int, stat []byte) { total += cpuIfIn(p.PID(), stat) })
	return total
}

// residentBytes reads proc_pid_status(5), and has the kernel forget the most so far (proc_pid_clear_refs(5)).
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

// eachStat reads /proc/<pid>/stat of every process.
func eachStat(do func(pid int, stat []byte)) {
	eachPID(func(pid int) {
		if text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); err == nil { // else it is gone by now
			do(pid, text)
		}
	})
}

// eachPID goes through the processes that there are.
func eachPID(do func(pid int)) {
	proc, err := os.Open("/proc")
	if err != nil {
		return
	}
	defer func() { _ = proc.Close() }()
	names, _ := proc.Readdirnames(-1) // those that could be read
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			do(pid)
		}
	}
}

// rssIfIn is the resident size of a process, if it is of the group: the 24th field of its stat, in pages.
func rssIfIn(group int, stat []byte) int64 {
	return statField(statIfIn(group, stat), 24) * int64(os.Getpagesize())
}

// cpuIfIn is the CPU time of a process, if it is of the group: utime, stime, cutime and cstime, the fields 14 to 17 of its stat.
// They are in USER_HZ, which is 100 on every Linux that Go runs on (times(7)).
func cpuIfIn(group int, stat []byte) time.Duration {
	fields := statIfIn(group, stat)
	return time.Duration(statField(fields, 14)+statField(fields, 15)+statField(fields, 16)+statField(fields, 17)) * 10 * time.Millisecond
}

// statIfIn reads /proc/<pid>/stat (proc_pid_stat(5)): pid (name) state ppid pgrp ... The name may hold anything, so fields are
// counted from its closing bracket: pgrp, the fifth, is the third after it. It is nil for a process of another group.
func statIfIn(group int, stat []byte) [][]byte {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 22 || string(fields[2]) != strconv.Itoa(group) {
		return nil
	}
	return fields
}

// statField is a field by its number in proc_pid_stat(5); 0 where there is none.
func statField(fields [][]byte, number int) int64 {
	if number-3 >= len(fields) {
		return 0
	}
	n, err := strconv.ParseInt(string(fields[number-3]), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
