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

// cgroups makes a cgroup for every process of a Place, in a folder of that place's own, which is locked as those of scratch are:
// what killed workers left in theirs is ended by the next one. A nil cgroups makes none.
type cgroups struct {
	dir   string
	v2    bool
	mkdir func(dir string) error
	rmdir func(dir string) error
	close func() error
}

// workerLeaf is where this process goes when the cgroup it is in is divided: in version 2 a cgroup that hands its memory
// controller on can't hold processes itself.
const workerLeaf = "stoker-worker"

// openCgroups divides the cgroup at where. It changes nothing but that cgroup: the controller is handed on to those below it, and
// this process moved there, if it is the only one inside.
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

// divide sees to it that cgroups below parent can have memory limits of their own, and tells its version. pid is this process.
func divide(parent string, pid int) (v2 bool, err error) {
	controllers, err := os.ReadFile(filepath.Join(parent, "cgroup.controllers"))
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(filepath.Join(parent, "memory.limit_in_bytes")); err != nil {
			return false, errors.New("is no cgroup with a memory controller")
		}
		return false, nil
	}
	if err != nil {
		return true, err
	}
	if !slices.Contains(strings.Fields(string(controllers)), "memory") {
		return true, errors.New("the memory controller is not delegated to it")
	}
	if err := makeRoom(parent, pid); err != nil {
		return true, err
	}
	return true, writeControl(filepath.Join(parent, "cgroup.subtree_control"), "+memory")
}

// makeRoom moves this process to a leaf if it is the only one in the cgroup. Others are not ours to move.
func makeRoom(parent string, pid int) error {
	inside := (&Cgroup{dir: parent}).processes()
	if len(inside) == 0 {
		return nil
	}
	if len(inside) > 1 || inside[0] != pid {
		return fmt.Errorf("processes %v are in it: it can be divided only when it holds no process but this one, %d", inside, pid)
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
		return nil, fmt.Errorf("make cgroup: %w", err)
	}
	return &Cgroup{dir: dir, v2: c.v2, rmdir: c.rmdir}, nil
}

// end removes the place's folder, and what may be left in it.
func (c *cgroups) end() error {
	if c == nil {
		return nil
	}
	endCgroupsIn(c.dir, c.v2)
	return c.close()
}

// String says which way memory is limited, for the log.
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

// endCgroupsIn ends the cgroups of a place that is gone. What can't be ended stays, and its folder with it.
func endCgroupsIn(dir string, v2 bool) {
	entries, _ := os.ReadDir(dir) // none where it is gone by now
	for _, entry := range entries {
		if entry.IsDir() {
			_ = (&Cgroup{dir: filepath.Join(dir, entry.Name()), v2: v2, rmdir: os.Remove}).end()
		}
	}
}
