package process

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// strayTime limits the search for processes that left their group: one that starts others faster
// than they can be found is left to the container around the worker.
const strayTime = time.Second

// endStrays kills the processes whose mark is home or a path below it, and waits until they have
// ended.
func endStrays(home string) { endThose(func(pid int) bool { return marked(pid, home) }) }

// endThose kills the processes for which are returns true, and waits until they have ended. A
// reused id can't make it kill another process: it opens a pidfd first, and then checks that the
// process is one of them.
func endThose(are func(pid int) bool) {
	for end := time.Now().Add(strayTime); time.Now().Before(end); {
		var strays []int
		eachProcess(func(p processStat) {
			if p.pid != os.Getpid() && !p.zombie() && are(p.pid) {
				strays = append(strays, p.pid)
			}
		})
		for _, pid := range strays {
			endStray(pid, are, end)
		}
		if len(strays) == 0 {
			return
		}
	}
}

// Alone reports whether only the leader runs on the process's behalf. If a process ends during the
// check, Alone checks again, up to a few times: the process may have started another one.
func (p *Process) Alone() bool {
	for range 3 {
		switch others, complete := p.others(); {
		case others:
			return false
		case complete:
			return true
		}
	}
	return true
}

// others reports whether anything else runs on the process's behalf: processes with its mark; its
// children and its group, which have no mark for a moment during exec; its orphans; and the
// processes in its cgroup.
func (p *Process) others() (found, complete bool) {
	all, orphans, complete := processes()
	marked := p.findOwn(p.sinceStart(all))
	found = !slices.Equal(marked, []int{p.PID()}) || slices.ContainsFunc(all, p.isKin) || p.family.hasAny(orphans) ||
		p.Cgroup != nil && !slices.Equal(p.Cgroup.processes(), marked)
	return found, complete
}

// sinceStart returns the processes that may descend from the leader, itself included: a descendant
// began no earlier. Reading the marks of all others would take longer than the rest of the check.
// If the leader is gone, it returns all processes.
func (p *Process) sinceStart(all []processStat) []processStat {
	leader := slices.IndexFunc(all, func(one processStat) bool { return one.pid == p.PID() })
	if leader < 0 {
		return all
	}
	began := all[leader].began()
	return slices.DeleteFunc(slices.Clone(all), func(one processStat) bool { return one.began() < began })
}

// belongings returns the processes that run on the process's behalf: its group, its descendants,
// those with its mark, and orphans that may be its own, with their descendants. An orphan without a
// mark counts for each process that was busy when it began.
func (p *Process) belongings() (found []processStat) {
	all, orphans, _ := processes()
	known := map[int]processStat{}
	for _, one := range all {
		known[one.pid] = one
	}
	mine := map[int]bool{os.Getpid(): false, p.PID(): true}
	for _, leader := range leaders() {
		if leader != p.PID() {
			mine[leader] = false
		}
	}
	for _, o := range orphans {
		mine[o.pid] = p.owns(o.pid) || !hasAnyMark(o.pid) && p.family.hasAny([]orphan{o})
	}
	for _, one := range all { // orphans before Linux 5.9, which does not report the brand
		if _, decided := mine[one.pid]; !decided && one.parent() == os.Getpid() {
			mine[one.pid] = p.owns(one.pid)
		}
	}
	var belongs func(pid int) bool
	belongs = func(pid int) bool {
		one, there := known[pid]
		if is, decided := mine[pid]; decided || !there {
			return is
		}
		mine[pid] = false // ids that were reused meanwhile may make a circle
		mine[pid] = one.group() == p.PID() || belongs(one.parent())
		return mine[pid]
	}
	for _, one := range all {
		if belongs(one.pid) {
			found = append(found, one)
		}
	}
	return found
}

// isKin reports whether another process is a child of the leader, or is in its group.
func (p *Process) isKin(other processStat) bool {
	return other.pid != p.PID() && !other.zombie() && (other.parent() == p.PID() || other.group() == p.PID())
}

// processes returns all processes, and those of them that are orphans.
func processes() (all []processStat, orphans []orphan, complete bool) {
	families.starting.Lock()
	defer families.starting.Unlock()
	complete = eachProcess(func(p processStat) { all = append(all, p) })
	return all, orphansAmong(all), complete
}

// findOwn returns those of some processes that have the process's mark, or its user.
func (p *Process) findOwn(all []processStat) (pids []int) {
	for _, one := range all {
		if one.pid != os.Getpid() && !one.zombie() && p.owns(one.pid) {
			pids = append(pids, one.pid)
		}
	}
	return pids
}

// owns reports whether another process has the mark of this one, or its user.
func (p *Process) owns(pid int) bool {
	return marked(pid, p.Home) || pid != p.spare && p.User.owns(pid)
}

// endStray does nothing if the process is gone by now, or if the kernel has no pidfd (before Linux
// 5.3).
func endStray(pid int, is func(pid int) bool, end time.Time) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if !is(pid) || unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) != nil {
		return
	}
	awaitPidfd(fd, end)
}

// awaitPidfd returns when the process has ended (its pidfd is readable then), or at end.
func awaitPidfd(fd int, end time.Time) {
	for {
		left := max(0, time.Until(end).Milliseconds())
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(left))
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// marked reports whether a process has the mark of the one that home belongs to. It is false for a
// process whose environment this user may not read, and for one that has ended.
func marked(pid int, home string) bool {
	return hasMark(environOf(pid), home)
}

// environOf reads proc_pid_environ(5). It returns nothing if it can't be read.
func environOf(pid int) []byte {
	folder := "/proc/" + strconv.Itoa(pid)
	environ, err := os.ReadFile(folder + "/environ")
	if err != nil || len(environ) > 0 {
		return environ
	}
	// the first thread may have exited, and then has no environment; the other threads have it
	threads, _ := os.ReadDir(folder + "/task")
	for _, thread := range threads {
		if environ, _ = os.ReadFile(folder + "/task/" + thread.Name() + "/environ"); len(environ) > 0 {
			return environ
		}
	}
	return nil
}

// hasAnyMark reports whether a process has the mark of one that was started here.
func hasAnyMark(pid int) bool {
	for pair := range bytes.SplitSeq(environOf(pid), []byte{0}) {
		if bytes.HasPrefix(pair, []byte(MarkEnv+"=")) {
			return true
		}
	}
	return false
}

// hasMark reads /proc/<pid>/environ (proc_pid_environ(5)): name=value pairs, each ended by a zero
// byte.
func hasMark(environ []byte, home string) bool {
	for pair := range bytes.SplitSeq(environ, []byte{0}) {
		mark, ok := strings.CutPrefix(string(pair), MarkEnv+"=")
		if ok && (mark == home || strings.HasPrefix(mark, home+"/")) {
			return true
		}
	}
	return false
}

// processStat is the content of /proc/<pid>/stat (proc_pid_stat(5)): pid (name) state ppid pgrp ...
// The name may hold anything, so fields are counted from its closing bracket.
type processStat struct {
	pid  int
	rest []byte // from the third field on, the state, which comes after the name
}

// field returns a field by its number in proc_pid_stat(5), from 4 on; 0 if it does not exist.
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

// zombie reports whether the process has ended, and only has to be waited for. A process whose
// first thread has exited looks the same while other threads of it run.
func (p processStat) zombie() bool { return p.headless() && p.field(20) <= 1 }

// headless reports whether the first thread of the process has exited.
func (p processStat) headless() bool { return len(p.rest) > 0 && p.rest[0] == 'Z' }

func (p processStat) parent() int { return int(p.field(4)) }
func (p processStat) group() int  { return int(p.field(5)) }

// began returns when the process started, in ticks since the machine started.
func (p processStat) began() int64 { return p.field(22) }

// ofKernel reports whether this is a kernel thread (PF_KTHREAD), which no process of ours is.
func (p processStat) ofKernel() bool { return p.field(9)&0x00200000 != 0 }

// newProcessStat copies the parts of text that it keeps.
func newProcessStat(pid int, text []byte) (p processStat, ok bool) {
	_, rest, ok := bytes.Cut(text[bytes.LastIndexByte(text, ')')+1:], []byte(" "))
	return processStat{pid: pid, rest: bytes.Clone(rest)}, ok
}

// eachProcess calls do for each existing process except kernel threads. If a process ends meanwhile
// it is left out, and complete is false: it may have started another one that was not seen.
//
// It reads files by plain system calls: os.ReadFile takes twice as many, and this runs after every
// job.
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

// rssUnit is the unit of ru_maxrss: kibibytes (getrusage(2)).
const rssUnit = 1 << 10

// groupOfItsOwn makes the child the leader of a new session, and so of a new group, which the
// kernel kills if the worker dies. In the worker's session it could open the terminal that the
// worker was started from, and type into it (TIOCSTI of ioctl_tty(2)).
func groupOfItsOwn() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// CanMeasureMemory reports whether memory limits can be enforced here.
const CanMeasureMemory = true

// CanSeeStrays reports whether Alone knows what a process has left running.
const CanSeeStrays = true

// ResidentBytes returns the resident size of the leader: now, and the most since the last call. It
// is 0 if it is unknown.
func (p *Process) ResidentBytes() (now, most int64) { return residentBytes(p.PID()) }

// GroupMemoryBytes adds up the resident memory of every process that runs on the process's behalf:
// see belongings. Shared pages count once for each.
func (p *Process) GroupMemoryBytes() (total int64) {
	for _, found := range p.belongings() {
		total += rss(found)
	}
	return total
}

// GroupCPU adds up the CPU time of every process of the group, including children that they waited
// for.
func (p *Process) GroupCPU() (total time.Duration) {
	eachProcess(func(found processStat) { total += cpuIfIn(p.PID(), found) })
	return total
}

// residentBytes reads proc_pid_status(5), and resets the kernel's peak (proc_pid_clear_refs(5)).
func residentBytes(pid int) (now, most int64) {
	folder := "/proc/" + strconv.Itoa(pid)
	status, err := os.ReadFile(folder + "/status")
	if err != nil {
		return 0, 0
	}
	// otherwise the peak is that of its whole life
	_ = os.WriteFile(folder+"/clear_refs", []byte("5"), 0)
	return statusBytes(status, "VmRSS:"), statusBytes(status, "VmHWM:")
}

// statusBytes finds a line like `VmRSS: 1024 kB`, in which kB means KiB.
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

// rss returns the resident size of a process: the 24th field of its stat, in pages. If its first
// thread has exited, that has none, and its other threads have it.
func rss(p processStat) int64 {
	pages := p.field(24)
	if p.headless() && !p.zombie() {
		folder := "/proc/" + strconv.Itoa(p.pid) + "/task"
		threads, _ := os.ReadDir(folder) // none if it is gone by now
		for _, thread := range threads {
			text, _ := os.ReadFile(folder + "/" + thread.Name() + "/stat")
			if of, ok := newProcessStat(p.pid, text); ok {
				pages = max(pages, of.field(24))
			}
		}
	}
	return pages * int64(os.Getpagesize())
}

// cpuIfIn returns the CPU time of a process, if it is in the group: utime, stime, cutime and
// cstime, the fields 14 to 17 of its stat, in USER_HZ, which is 100 on every Linux that Go runs on
// (times(7)).
func cpuIfIn(group int, p processStat) time.Duration {
	if p.group() != group {
		return 0
	}
	return time.Duration(p.field(14)+p.field(15)+p.field(16)+p.field(17)) * 10 * time.Millisecond
}
