package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-ml/stoker/functions/scratch"
)

// cgroups makes a cgroup for each process of a Supervisor, in a directory of that supervisor's
// own, which is locked like those of package scratch: the next worker ends what killed ones left in
// theirs. A nil cgroups makes none.
type cgroups struct {
	dir   string
	v2    bool
	mkdir func(dir string) error
	rmdir func(dir string) error
	close func() error
}

// workerLeaf is the cgroup that this process moves to when its own is divided: in version 2 a
// cgroup that delegates its memory controller can't contain processes itself.
const workerLeaf = "stoker-worker"

// openCgroups divides the cgroup at where. It changes nothing but that cgroup: the controller is
// delegated to those below it, and this process moves to one of them, if it is the only one inside.
func openCgroups(where string) (*cgroups, error) {
	if where == "" {
		return nil, nil
	}
	parent, err := findCgroup(where)
	if err != nil {
		return nil, fmt.Errorf("cgroup %s: %w", where, err)
	}
	v2, err := divide(parent, os.Getpid())
	if err != nil {
		return nil, fmt.Errorf("cgroup %s: %w", parent, err)
	}
	folder, err := scratch.Open(parent, func(abandoned string) { endCgroupsIn(abandoned, v2) })
	if err != nil {
		return nil, fmt.Errorf("cgroup %s: %w", parent, err)
	}
	c := &cgroups{dir: folder.Path(), v2: v2, mkdir: makeCgroup, rmdir: os.Remove, close: folder.Close}
	if err := c.handOn(); err != nil {
		return nil, errors.Join(fmt.Errorf("cgroup %s: %w", c.dir, err), folder.Close())
	}
	return c, nil
}

func makeCgroup(dir string) error { return os.Mkdir(dir, 0o755) }

// divide enables memory limits for the cgroups below parent, and returns the version of cgroups.
// pid is this process.
func divide(parent string, pid int) (v2 bool, err error) {
	controllers, err := os.ReadFile(filepath.Join(parent, "cgroup.controllers"))
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(filepath.Join(parent, "memory.limit_in_bytes")); err != nil {
			return false, errors.New("it is not a cgroup with a memory controller")
		}
		return false, nil
	}
	if err != nil {
		return true, err
	}
	if !slices.Contains(strings.Fields(string(controllers)), "memory") {
		return true, errors.New("it has no memory controller: delegate it (systemd: Delegate=yes)")
	}
	if err := moveToLeaf(parent, pid); err != nil {
		return true, err
	}
	return true, writeControl(filepath.Join(parent, "cgroup.subtree_control"), "+memory")
}

// moveToLeaf moves this process to a leaf if it is the only one in the cgroup. It never moves other
// processes.
func moveToLeaf(parent string, pid int) error {
	inside := (&Cgroup{dir: parent}).processes()
	if len(inside) == 0 {
		return nil
	}
	if len(inside) > 1 || inside[0] != pid {
		return fmt.Errorf("it holds the processes %v: workers can create cgroups in it only if it holds no other process than the worker, %d", inside, pid)
	}
	leaf := filepath.Join(parent, workerLeaf)
	if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return writeControl(filepath.Join(leaf, "cgroup.procs"), strconv.Itoa(pid))
}

// handOn lets the cgroups of processes have limits.
func (c *cgroups) handOn() error {
	if !c.v2 {
		return nil
	}
	return writeControl(filepath.Join(c.dir, "cgroup.subtree_control"), "+memory")
}

// open makes the cgroup of one process.
func (c *cgroups) open(name string) (*Cgroup, error) {
	if c == nil {
		return nil, nil
	}
	dir := filepath.Join(c.dir, name)
	if err := c.mkdir(dir); err != nil {
		return nil, fmt.Errorf("create cgroup: %w", err)
	}
	return &Cgroup{dir: dir, v2: c.v2, rmdir: c.rmdir}, nil
}

// end removes the supervisor's directory with everything in it.
func (c *cgroups) end() error {
	if c == nil {
		return nil
	}
	endCgroupsIn(c.dir, c.v2)
	return c.close()
}

// String describes, for the log, how memory is limited.
func (c *cgroups) String() string {
	switch {
	case c == nil:
		return "polling"
	case c.v2:
		return "cgroup v2 " + c.dir
	default:
		return "cgroup v1 " + c.dir
	}
}

// endCgroupsIn ends the cgroups of a supervisor that is gone. A cgroup that can't be ended stays,
// with its directory.
func endCgroupsIn(dir string, v2 bool) {
	entries, _ := os.ReadDir(dir) // none if it is gone by now
	for _, entry := range entries {
		if entry.IsDir() {
			_ = (&Cgroup{dir: filepath.Join(dir, entry.Name()), v2: v2, rmdir: os.Remove}).end()
		}
	}
}

// ownCgroupName names the cgroup that this process is in.
const ownCgroupName = "own"

// findCgroup returns the directory for "own" or an absolute path.
func findCgroup(where string) (string, error) {
	if where != ownCgroupName {
		if !filepath.IsAbs(where) {
			return "", fmt.Errorf("expected %q or an absolute path", ownCgroupName)
		}
		return where, nil
	}
	memberships, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	return ownCgroup(string(memberships), string(mounts))
}

// ownCgroup finds the directory of a process's cgroup in the hierarchy that has the memory
// controller: see cgroups(7) and proc_pid_mountinfo(5). A process in the leaf that moveToLeaf
// makes, or that systemd's DelegateSubgroup= makes, belongs to the cgroup above it.
func ownCgroup(memberships, mounts string) (string, error) {
	path, kind, err := memoryHierarchy(memberships)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(mounts) {
		before, after, _ := strings.Cut(line, " - ")
		where, what := strings.Fields(before), strings.Fields(after)
		if len(where) < 5 || len(what) < 3 || what[0] != kind || kind == "cgroup" && !hasWord(what[2], "memory") {
			continue
		}
		below, err := filepath.Rel(where[3], path)
		if err != nil || below == ".." || strings.HasPrefix(below, "../") {
			continue // a mount of another part of the hierarchy
		}
		own := filepath.Join(where[4], below)
		if kind == "cgroup2" && filepath.Base(own) == workerLeaf {
			own = filepath.Dir(own)
		}
		return own, nil
	}
	return "", fmt.Errorf("%s of type %s is not mounted here", path, kind)
}

// memoryHierarchy picks from lines like `4:memory:/a/b` (version 1) and `0::/a/b` (version 2).
func memoryHierarchy(memberships string) (path, kind string, err error) {
	for line := range strings.Lines(memberships) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) < 3 {
			continue
		}
		if hasWord(parts[1], "memory") {
			return parts[2], "cgroup", nil
		}
		if parts[0] == "0" {
			path, kind = parts[2], "cgroup2"
		}
	}
	if path == "" {
		return "", "", errors.New("this process is not in a cgroup with a memory controller")
	}
	return path, kind, nil
}

func hasWord(list, word string) bool { return slices.Contains(strings.Split(list, ","), word) }
