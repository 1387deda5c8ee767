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

// Orphans are processes whose parents have ended. As a subreaper (PR_SET_CHILD_SUBREAPER(2const))
// this process becomes the parent of those that its children leave, whatever session, group or
// environment they have; the brand distinguishes them from other children. The kernel does not say
// whose orphan a process was. It can only belong to a process that was busy when it began, so it is
// ended when no such process is left.

// families are the leaders that are children of this process, and those that are busy.
var families = struct {
	// Read-held from a leader's start until it is registered, so that it is not taken for an
	// orphan.
	starting sync.RWMutex

	sync.Mutex
	leaders map[int]*family   // by their ids
	busy    map[*family]int64 // since when, in ticks since the machine started
}{leaders: map[int]*family{}, busy: map[*family]int64{}}

// family is a process's entry in families.
type family struct {
	pid int // id of a leader that is a child of this process; 0: it is another's
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

// join registers a leader.
func (f *family) join(pid int) {
	families.Lock()
	defer families.Unlock()
	f.pid = pid
	families.leaders[pid] = f
}

// leaders returns the ids of all leaders that are children of this process.
func leaders() []int {
	families.Lock()
	defer families.Unlock()
	return slices.Collect(maps.Keys(families.leaders))
}

// leave removes a leader that has been waited for, or is about to be.
func (f *family) leave() {
	f.setBusy(false)
	families.Lock()
	defer families.Unlock()
	if families.leaders[f.pid] == f { // otherwise its id is reused by now
		delete(families.leaders, f.pid)
	}
}

// adoptOrphans makes this process the parent of orphans.
func adoptOrphans() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// orphan is a branded process that is a child of this one, which did not start it.
type orphan struct {
	pid    int
	zombie bool
	began  int64 // in ticks
}

// orphansAmong lists the orphans among processes. The caller holds families.starting.
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

// endOrphans ends the orphans that belong to no busy process, and waits for those that have ended.
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

// belongs reports whether a process is busy that was busy when the orphan began. A tick is a
// hundredth of a second; one more allows for rounding.
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
	// its id is not reused until it is waited for
	if !branded(o.pid) || unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) != nil {
		return false
	}
	awaitPidfd(fd, until)
	reapOrphan(o.pid)
	return true
}

// reapOrphan waits for an orphan that has ended, and reports whether it is gone. One that still has
// threads is not.
func reapOrphan(pid int) bool {
	for {
		reaped, err := unix.Wait4(pid, nil, unix.WNOHANG, nil)
		if !errors.Is(err, unix.EINTR) {
			return reaped == pid || err != nil
		}
	}
}

// hasAny reports whether one of the orphans may be this process's.
func (f *family) hasAny(orphans []orphan) bool {
	families.Lock()
	since, busy := families.busy[f]
	families.Unlock()
	return slices.ContainsFunc(orphans, func(o orphan) bool { return !o.zombie && (!busy || o.began+1 >= since) })
}

// ticks returns the time since the machine started as in proc_pid_stat(5), in hundredths of a
// second.
func ticks() int64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) // every Linux has it
	return now.Nano() / int64(10*time.Millisecond)
}
