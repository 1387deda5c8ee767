package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ownCgroupName asks for the cgroup that this process is in.
const ownCgroupName = "own"

// findCgroup makes a folder of "own" or an absolute path.
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

// ownCgroup finds the folder of a process's cgroup in the hierarchy that has the memory controller, by cgroups(7) and
// proc_pid_mountinfo(5). A process in the leaf that makeRoom makes, or systemd's DelegateSubgroup=, is one of the cgroup above.
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
		return "", "", errors.New("this process is in no cgroup that could have a memory controller")
	}
	return path, kind, nil
}

func hasWord(list, word string) bool { return slices.Contains(strings.Split(list, ","), word) }
