package process

import (
	"errors"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Orphans are processes whose parents have ended. As a subreaper (PR_SET_CHILD_SUBREAPER(2const)) this process is the parent of those that
// its children leave, whatever session, group or environment they have made for themselves; the brand tells them from other children.
//
// Whose orphan one was is not told by the kernel. It can only be that of a process that was busy when it began, and so it is ended when no
// such process is left.

// families are the leaders that are children of this process, and those that are busy.
var families = struct {
	starting sync.RWMutex // read-held from a leader's start until it is known: nobody takes it for an orphan

	sync.Mutex
	leaders map[int]*family   // by their numbers
	busy    map[*family]int64 // since when, in ticks since the machine started
}{leaders: map[int]*family{}, busy: map[*family]int64{}}

// family is the part of a process in families.
type family struct {
	pid int // of a leader that is a child of this process; 0: it is another's
}

func (f *family) setBusy(busy bool) {
	families.Lock()
	defer families.Unlock()
	if busy {
		families.busy[f] = ticks()
	} else {
		delete(families.busy, f)
	}
}

// join makes a leader known.
func (f *family) join(pid int) {
	families.Lock()
	defer families.Unlock()
	f.pid = pid
	families.leaders[pid] = f
}

// leaders are the numbers of all leaders that are children of this process.
func leaders() []int {
	families.Lock()
	defer families.Unlock()
	return slices.Collect(maps.Keys(families.leaders))
}

// leave forgets a leader that has been waited for, or is about to be.
func (f *family) leave() {
	f.setBusy(false)
	families.Lock()
	defer families.Unlock()
	if families.leaders[f.pid] == f { // else its number is another's by now
		delete(families.leaders, f.pid)
	}
}

// adoptOrphans makes this process the parent of orphans.
func adoptOrphans() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// orphan is a process that was branded, and is a child of this one that it has not started.
type orphan struct {
	pid    int
	zombie bool
	began  int64 // in ticks
}

// orphansAmong lists them. The caller holds families.starting.
func orphansAmong(all []processStat) (found []orphan) {
	families.Lock()
	defer families.Unlock()
	for _, p := range all {
		if p.parent() == os.Getpid() && families.leaders[p.pid] == nil && branded(p.pid) {
			found = append(found, orphan{pid: p.pid, zombie: p.zombie(), began: p.began()})
		}
	}
	return found
}

// endOrphans ends those that belong to no process that is busy, and waits for those that have ended.
func endOrphans() {
	for end := time.Now().Add(strayTime); time.Now().Before(end); {
		ended := false
		_, orphans, _ := processes()
		for _, o := range orphans {
			switch {
			case o.zombie && reapOrphan(o.pid):
			case !o.belongs():
				ended = o.end(end) || ended
			}
		}
		if !ended {
			return
		}
	}
}

// belongs says whether a process is busy that was so when this one began. A tick is a hundredth of a second; one more is for the rest.
func (o orphan) belongs() bool {
	families.Lock()
	defer families.Unlock()
	for _, since := range families.busy {
		if since <= o.began+1 {
			return true
		}
	}
	return false
}

// end kills an orphan, and waits for it.
func (o orphan) end(until time.Time) bool {
	fd, err := unix.PidfdOpen(o.pid, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	if !branded(o.pid) || unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) != nil { // its number is no other's as long as nobody waits for it
		return false
	}
	awaitPidfd(fd, until)
	reapOrphan(o.pid)
	return true
}

// reapOrphan waits for an orphan that has ended, and says whether it is gone. One that has threads left is not.
func reapOrphan(pid int) bool {
	for {
		reaped, err := unix.Wait4(pid, nil, unix.WNOHANG, nil)
		if !errors.Is(err, unix.EINTR) {
			return reaped == pid || err != nil
		}
	}
}

// hasAny says whether one of the orphans may be this process's.
func (f *family) hasAny(orphans []orphan) bool {
	families.Lock()
	since, busy := families.busy[f]
	families.Unlock()
	return slices.ContainsFunc(orphans, func(o orphan) bool { return !o.zombie && (!busy || o.began+1 >= since) })
}

// ticks is the time since the machine started as proc_pid_stat(5) has it, in hundredths of a second.
func ticks() int64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) // every Linux has it
	return now.Nano() / int64(10*time.Millisecond)
}
