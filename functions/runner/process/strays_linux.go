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

// endStrays kills the processes whose mark is home or lies below it, and waits until they have ended.
func endStrays(home string) { endThose(func(pid int) bool { return marked(pid, home) }) }

// endThose kills some processes, and waits until they have ended. Their numbers can hit no stranger: a pidfd is opened first, and after that
// it is asked whether it is one of them.
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

// Alone says whether nothing but the leader runs on the process's behalf. It looks again where a process has ended while it looked, a few
// times: one that ends may have started another.
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

// others says whether something else runs on the process's behalf: what has its mark, its children and its group, which have no mark for
// a moment of their exec, its orphans, and what is in its cgroup.
func (p *Process) others() (found, complete bool) {
	all, orphans, complete := processes()
	marked := p.findOwn(p.sinceStart(all))
	found = !slices.Equal(marked, []int{p.PID()}) || slices.ContainsFunc(all, p.isKin) || p.family.hasAny(orphans) ||
		p.Cgroup != nil && !slices.Equal(p.Cgroup.processes(), marked)
	return found, complete
}

// sinceStart are the processes that may descend from the leader, itself among them: who descends from it began no earlier. To read
// the marks of all others would take longer than all the rest of a look. Where the leader is gone, it is all of them.
func (p *Process) sinceStart(all []processStat) []processStat {
	leader := slices.IndexFunc(all, func(one processStat) bool { return one.pid == p.PID() })
	if leader < 0 {
		return all
	}
	began := all[leader].began()
	return slices.DeleteFunc(slices.Clone(all), func(one processStat) bool { return one.began() < began })
}

// belongings are the processes that run on the process's behalf: its group, what descends from it, what has its mark, and orphans that may
// be its own, with what descends from those. An orphan without a mark counts for each process that was busy when it began.
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
	for _, one := range all { // orphans before Linux 5.9, which doesn't tell the brand
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
		mine[pid] = false // numbers that were given away meanwhile may make a circle
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

// isKin says whether another process is a child of the leader, or is in its group.
func (p *Process) isKin(other processStat) bool {
	return other.pid != p.PID() && !other.zombie() && (other.parent() == p.PID() || other.group() == p.PID())
}

// processes are all that there are, and those of them that are orphans.
func processes() (all []processStat, orphans []orphan, complete bool) {
	families.starting.Lock()
	defer families.starting.Unlock()
	complete = eachProcess(func(p processStat) { all = append(all, p) })
	return all, orphansAmong(all), complete
}

// findOwn are those of some processes that have the process's mark, or its user.
func (p *Process) findOwn(all []processStat) (pids []int) {
	for _, one := range all {
		if one.pid != os.Getpid() && !one.zombie() && p.owns(one.pid) {
			pids = append(pids, one.pid)
		}
	}
	return pids
}

// owns says whether another process has the mark of this one, or its user.
func (p *Process) owns(pid int) bool {
	return marked(pid, p.Home) || pid != p.spare && p.User.owns(pid)
}

// endStray does nothing where the process is gone by now, or the kernel knows no pidfd (before Linux 5.3).
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
	return hasMark(environOf(pid), home)
}

// environOf reads proc_pid_environ(5). It is empty where it can't be read.
func environOf(pid int) []byte {
	folder := "/proc/" + strconv.Itoa(pid)
	environ, err := os.ReadFile(folder + "/environ")
	if err != nil || len(environ) > 0 {
		return environ
	}
	threads, _ := os.ReadDir(folder + "/task") // the first thread may have exited, and has no environment any more; the others have it
	for _, thread := range threads {
		if environ, _ = os.ReadFile(folder + "/task/" + thread.Name() + "/environ"); len(environ) > 0 {
			return environ
		}
	}
	return nil
}

// hasAnyMark says whether a process has the mark of one that was started here.
func hasAnyMark(pid int) bool {
	for pair := range bytes.SplitSeq(environOf(pid), []byte{0}) {
		if bytes.HasPrefix(pair, []byte(MarkEnv+"=")) {
			return true
		}
	}
	return false
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
