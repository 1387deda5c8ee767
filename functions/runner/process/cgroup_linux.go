package process

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Cgroup limits the memory of one process and of all that it starts, by the kernel: a process that
// asks for more than the limit, after pages that can be written back were, is killed at once. A nil
// Cgroup has no limit.
//
// Files and their meaning: Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst of the
// kernel.
type Cgroup struct {
	dir    string
	v2     bool
	most   int64             // the limit, in bytes; 0: none
	before oomCount          // when the limit was set
	set    map[string]string // files of the limit, and their contents after it was set
	rmdir  func(dir string) error
}

// oomCount is how often memory ran out in a cgroup.
type oomCount struct {
	own   int64 // by its own limit; version 1 does not say
	kills int64 // of processes in it, for any cgroup's limit
}

// adopt moves in a process that was started outside. Version 2 starts processes inside.
func (g *Cgroup) adopt(pid int) error {
	if g == nil || g.v2 {
		return nil
	}
	return g.move(pid)
}

// move moves a process into the cgroup. Memory that it has allocated stays accounted to its earlier
// cgroup.
func (g *Cgroup) move(pid int) error {
	if g == nil {
		return nil
	}
	return g.write("cgroup.procs", strconv.Itoa(pid))
}

// Limit sets how many bytes the processes may have together, 0 for no limit. EBUSY means that they
// hold more already.
func (g *Cgroup) Limit(most int64) (err error) {
	if g == nil {
		return nil
	}
	if g.v2 {
		err = g.limitV2(most)
	} else {
		err = g.limitV1(most)
	}
	if err != nil {
		return err
	}
	g.most, g.set = most, map[string]string{}
	if most > 0 {
		for _, name := range g.limitFiles() {
			if text, err := os.ReadFile(filepath.Join(g.dir, name)); err == nil {
				g.set[name] = string(text)
			}
		}
	}
	g.before, err = g.count()
	return err
}

// limitFiles returns the files that the kernel reads limits from.
func (g *Cgroup) limitFiles() []string {
	if g.v2 {
		return []string{"memory.max", "memory.swap.max"}
	}
	return []string{"memory.limit_in_bytes", "memory.memsw.limit_in_bytes"}
}

// Lifted reports whether another process has changed the limit. A process of the same user may do
// so unless its sandbox forbids it.
func (g *Cgroup) Lifted() bool {
	for name, want := range g.set {
		if text, err := os.ReadFile(filepath.Join(g.dir, name)); err == nil && string(text) != want {
			return true
		}
	}
	return false
}

// limitV2 forbids swap, and makes the kernel kill all processes with the first one: the rest of a
// job is useless.
func (g *Cgroup) limitV2(most int64) error {
	if most == 0 {
		return g.write("memory.max", "max")
	}
	return errors.Join(
		g.writeIfThere("memory.swap.max", "0"), g.writeIfThere("memory.oom.group", "1"),
		g.write("memory.max", strconv.FormatInt(most, 10)))
}

// limitV1 sets the limit of memory and swap together to that of memory alone; the former must never
// be lower.
func (g *Cgroup) limitV1(most int64) error {
	const both, memory = "memory.memsw.limit_in_bytes", "memory.limit_in_bytes"
	if err := errors.Join(g.writeIfThere(both, "-1"), g.write(memory, "-1")); err != nil || most == 0 {
		return err
	}
	limit := strconv.FormatInt(most, 10)
	if err := g.write(memory, limit); err != nil {
		return err
	}
	return errors.Join(g.writeIfThere(both, limit), g.write("memory.max_usage_in_bytes", "0"))
}

// Exceeded reports whether a process was killed because the limit was reached, whether the limit
// was changed since it was set, or whether clearly more memory is in use. A kill for the limit of
// an enclosing cgroup does not count.
func (g *Cgroup) Exceeded() bool {
	if g.most > 0 && (g.usedBytes() > g.most+g.most/overshoot || g.Lifted()) {
		return true
	}
	now, err := g.count()
	if err != nil || now.kills <= g.before.kills {
		return false
	}
	if g.v2 {
		return now.own > g.before.own
	}
	return g.PeakBytes() > g.most-reachedBytes
}

// overshoot is the part of the limit that may be used above it: the kernel exceeds it for a moment
// if it can't wait.
const overshoot = 8

// usedBytes returns the memory in use.
func (g *Cgroup) usedBytes() int64 {
	if g.v2 {
		return g.number("memory.current")
	}
	return g.number("memory.usage_in_bytes")
}

// reachedBytes is a lower bound of the limit at which the kernel kills: the allocation that did not
// fit may leave a rest.
const reachedBytes = 1 << 20

func (g *Cgroup) count() (oomCount, error) {
	name := "memory.oom_control"
	if g.v2 {
		name = "memory.events"
	}
	text, err := os.ReadFile(filepath.Join(g.dir, name))
	return oomCount{own: counted(text, "oom"), kills: counted(text, "oom_kill")}, err
}

// PeakBytes returns the largest amount of memory that was used, in bytes; 0 if the kernel is too
// old to report it.
func (g *Cgroup) PeakBytes() int64 {
	if g.v2 {
		return g.number("memory.peak")
	}
	return g.number("memory.max_usage_in_bytes")
}

// processes returns the processes that have not ended.
func (g *Cgroup) processes() (pids []int) {
	text, _ := os.ReadFile(filepath.Join(g.dir, "cgroup.procs")) // none if it is gone
	for field := range strings.FieldsSeq(string(text)) {
		if pid, err := strconv.Atoi(field); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// end kills the processes in the cgroup, and removes it.
func (g *Cgroup) end() error {
	if g == nil {
		return nil
	}
	_ = g.writeIfThere("cgroup.kill", "1") // since Linux 5.14; the others are killed one by one
	var err error
	for end := time.Now().Add(strayTime); time.Now().Before(end); time.Sleep(time.Millisecond) {
		for _, pid := range g.processes() {
			g.endOne(pid, end)
		}
		if err = g.rmdir(g.dir); err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	return fmt.Errorf("remove cgroup: %w", err)
}

// endOne kills a process if it is still in this cgroup when a pidfd holds its number.
func (g *Cgroup) endOne(pid int, end time.Time) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if slices.Contains(g.processes(), pid) && unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil {
		awaitPidfd(fd, end)
	}
}

// write changes a control file, which must exist.
func (g *Cgroup) write(name, value string) error {
	return writeControl(filepath.Join(g.dir, name), value)
}

// writeIfThere is write for a file that not every kernel has.
func (g *Cgroup) writeIfThere(name, value string) error {
	if err := g.write(name, value); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func writeControl(path, value string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(value)
	return errors.Join(err, file.Close())
}

// number reads a file that holds one number; 0 if it does not exist.
func (g *Cgroup) number(name string) int64 {
	text, err := os.ReadFile(filepath.Join(g.dir, name))
	if err != nil {
		return 0
	}
	n, err := strconv.ParseUint(string(bytes.TrimSpace(text)), 10, 64)
	if err != nil {
		return 0
	}
	return int64(min(n, math.MaxInt64))
}

// counted reads a file of lines like `oom_kill 3`.
func counted(text []byte, name string) int64 {
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseInt(value, 10, 64); err == nil && key == name {
			return n
		}
	}
	return 0
}

// startIn has a process begin inside the cgroup (CLONE_INTO_CGROUP, since Linux 5.7) in version 2.
// The caller closes the file when the process has started.
func (g *Cgroup) startIn(attr *syscall.SysProcAttr) (*os.File, error) {
	if g == nil || !g.v2 {
		return nil, nil
	}
	folder, err := os.Open(g.dir)
	if err != nil {
		return nil, err
	}
	attr.UseCgroupFD, attr.CgroupFD = true, int(folder.Fd())
	return folder, nil
}
