package kube

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// hierarchy is one of control groups of version 1: where it is mounted, with which controller, and
// the group of this process.
type hierarchy struct{ mount, controller, own string }

// hierarchies returns those of this machine.
func hierarchies() (all []hierarchy, err error) {
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	own := map[string]string{} // by controller
	for line := range strings.Lines(string(groups)) {
		if parts := strings.SplitN(strings.TrimSpace(line), ":", 3); len(parts) == 3 {
			own[strings.TrimPrefix(parts[1], "name=")] = parts[2]
		}
	}
	mounts, err := os.Open("/proc/self/mounts")
	if err != nil {
		return nil, err
	}
	defer mounts.Close()
	for lines := bufio.NewScanner(mounts); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || fields[2] != "cgroup" {
			continue
		}
		controller := filepath.Base(fields[1])
		if group, ok := own[controller]; ok {
			all = append(all, hierarchy{mount: fields[1], controller: controller, own: group})
		}
	}
	if len(all) == 0 {
		return nil, errors.New("there are no control groups of version 1: version 2 is not supported by these tests yet")
	}
	return all, nil
}

// groupName is the name of the control groups of a run.
func groupName(dir string) string { return filepath.Base(dir) }

// makeGroups makes the groups of a run, in which nodes then make theirs at the same time.
func makeGroups(name string) error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	for _, h := range all {
		if err := makeGroup(filepath.Join(h.mount, h.own, name)); err != nil {
			return err
		}
	}
	return nil
}

// joinGroup puts this process into a group of all hierarchies, below its own, and makes it the root
// of the groups that the process sees. The calling thread must be the one that goes on.
func joinGroup(name string) error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	for _, h := range all {
		dir := filepath.Join(h.mount, h.own, name)
		if err := makeGroup(dir); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte("0"), 0); err != nil {
			return err
		}
	}
	if err := unix.Unshare(unix.CLONE_NEWCGROUP); err != nil {
		return fmt.Errorf("unshare control groups: %w", err)
	}
	if err := unix.Mount("sysfs", "/sys", "sysfs", 0, ""); err != nil {
		return fmt.Errorf("mount /sys: %w", err)
	}
	if err := unix.Mount("tmpfs", "/sys/fs/cgroup", "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("mount /sys/fs/cgroup: %w", err)
	}
	for _, h := range all {
		dir := filepath.Join("/sys/fs/cgroup", h.controller)
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		options := h.controller
		if options == "systemd" {
			options = "none,name=systemd"
		}
		if err := unix.Mount("cgroup", dir, "cgroup", 0, options); err != nil {
			return fmt.Errorf("mount %s: %w", dir, err)
		}
	}
	return nil
}

// makeGroup makes a group and those above it, which nobody else may be making. One of cpuset has no
// processors until it is given some.
func makeGroup(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := makeGroup(filepath.Dir(dir)); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(dir), file))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, file), text, 0)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// removeGroups removes the groups of a run, which must have no processes. The kernel may still be
// ending them.
func removeGroups(name string) error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	var failed error
	for _, h := range all {
		failed = errors.Join(failed, removeGroup(filepath.Join(h.mount, h.own, name)))
	}
	return failed
}

func removeGroup(dir string) error {
	children, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, child := range children {
		if child.IsDir() {
			err = errors.Join(err, removeGroup(filepath.Join(dir, child.Name())))
		}
	}
	if err != nil {
		return err
	}
	for range 100 {
		if err = unix.Rmdir(dir); err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("control group %s is left: %w", dir, err)
}
