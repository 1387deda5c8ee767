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

// groupOfItsOwn makes the child the leader of a new session, and so of a new group, killed by the kernel if the worker dies without a word.
// In the worker's session it could open the terminal that the worker was started from, and type into it (TIOCSTI of ioctl_tty(2)).
func groupOfItsOwn() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// CanMeasureMemory says whether limits of memory can hold here.
const CanMeasureMemory = true

// CanSeeStrays says whether Alone tells what a process has left running.
const CanSeeStrays = true

// ResidentBytes is the resident size of the leader, now and at most since it was last asked for. It is 0 where it can't be
// known.
func (p *Process) ResidentBytes() (now, most int64) { return residentBytes(p.PID()) }

// GroupMemoryBytes adds up the resident memory of every process that runs on the process's behalf: see belongings. Pages that they share count
// once for each.
func (p *Process) GroupMemoryBytes() (total int64) {
	for _, found := range p.belongings() {
		total += rss(found)
	}
	return total
}

// GroupCPU adds up the CPU time of every process of the group, with that of children that they waited for.
func (p *Process) GroupCPU() (total time.Duration) {
	eachProcess(func(found processStat) { total += cpuIfIn(p.PID(), found) })
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

// rss is the resident size of a process: the 24th field of its stat, in pages. A first thread that has exited has none any more; the others
// of its process have it.
func rss(p processStat) int64 {
	pages := p.field(24)
	if p.headless() && !p.zombie() {
		folder := "/proc/" + strconv.Itoa(p.pid) + "/task"
		threads, _ := os.ReadDir(folder) // none where it is gone by now
		for _, thread := range threads {
			text, _ := os.ReadFile(folder + "/" + thread.Name() + "/stat")
			if of, ok := newProcessStat(p.pid, text); ok {
				pages = max(pages, of.field(24))
			}
		}
	}
	return pages * int64(os.Getpagesize())
}

// cpuIfIn is the CPU time of a process, if it is of the group: utime, stime, cutime and cstime, the fields 14 to 17 of its stat.
// They are in USER_HZ, which is 100 on every Linux that Go runs on (times(7)).
func cpuIfIn(group int, p processStat) time.Duration {
	if p.group() != group {
		return 0
	}
	return time.Duration(p.field(14)+p.field(15)+p.field(16)+p.field(17)) * 10 * time.Millisecond
}
