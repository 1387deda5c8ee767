package process

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheOwnCgroupIsFoundInEveryLayout(t *testing.T) {
	t.Parallel()
	const (
		unified = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
		hybrid  = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n" +
			"33 31 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
		container = "40 31 0:32 /docker/7f /sys/fs/cgroup/memory ro shared:9 - cgroup cgroup rw,memory\n"
	)
	for name, tc := range map[string]struct{ memberships, mounts, want, says string }{
		"a service of systemd":            {"0::/system.slice/stoker.service\n", unified, "/sys/fs/cgroup/system.slice/stoker.service", ""},
		"moved to the leaf":               {"0::/system.slice/stoker.service/stoker-worker\n", unified, "/sys/fs/cgroup/system.slice/stoker.service", ""},
		"a container with its own view":   {"0::/\n", unified, "/sys/fs/cgroup", ""},
		"memory is version 1's":           {"5:cpu:/c\n4:memory:/a/b\n0::/u\n", hybrid, "/sys/fs/cgroup/memory/a/b", ""},
		"version 1 in a container":        {"4:memory:/docker/7f\n", container, "/sys/fs/cgroup/memory", ""},
		"controllers mounted together":    {"4:cpu,memory:/a\n", strings.ReplaceAll(hybrid, "rw,memory", "rw,cpu,memory"), "/sys/fs/cgroup/memory/a", ""},
		"a mount that shows another part": {"4:memory:/docker/99\n", container, "", "is not mounted here"},
		"no mount":                        {"0::/a\n", "", "", "/a of type cgroup2 is not mounted here"},
		"no cgroup":                       {"", unified, "", "is not in a cgroup"},
		"nonsense":                        {"0\n\n::\n", "x - y\n - \n", "", "is not in a cgroup"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ownCgroup(tc.memberships, tc.mounts)
			if got != tc.want || (err != nil) != (tc.says != "") || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %q, %v; want %q, %q", got, err, tc.want, tc.says)
			}
		})
	}
}

func TestACgroupOfVersion2IsDividedAndThisProcessIsMoved(t *testing.T) {
	t.Parallel()
	parent := fakeCgroup(t, t.TempDir(), map[string]string{"cgroup.controllers": "cpu memory pids\n", "cgroup.procs": "77\n"})
	leaf := fakeCgroup(t, filepath.Join(parent, "stoker-worker"), nil)
	v2, err := divide(parent, 77)
	if !v2 || err != nil {
		t.Fatal(v2, err)
	}
	want := map[string]string{"cgroup.controllers": "cpu memory pids\n", "cgroup.procs": "77\n", "cgroup.subtree_control": "+memory"}
	if diff := cmp.Diff(want, controls(t, parent)); diff != "" {
		t.Errorf("cgroup (-want +got):\n%s", diff)
	}
	if got := controls(t, leaf)["cgroup.procs"]; got != "77" {
		t.Errorf("in the leaf is %q", got)
	}
}

func TestACgroupThatCanNotBeDividedSaysWhy(t *testing.T) {
	t.Parallel()
	for says, files := range map[string]map[string]string{
		"it is not a cgroup with a memory controller":                      {},
		"it has no memory controller: delegate it (systemd: Delegate=yes)": {"cgroup.controllers": "cpu pids\n"},
		"it holds the processes [77 99]":                                   {"cgroup.controllers": "memory\n", "cgroup.procs": "77\n99\n"},
		"it holds the processes [99]":                                      {"cgroup.controllers": "memory\n", "cgroup.procs": "99\n"},
		"subtree_control: no such file or directory":                       {"cgroup.controllers": "memory\n"},
		"expected \"own\" or an absolute path":                             nil,
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			where := "cgroup/here"
			if files != nil {
				where = t.TempDir()
				for name, text := range files {
					if err := os.WriteFile(filepath.Join(where, name), []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			_, err := findCgroup(where)
			if err == nil {
				_, err = divide(where, 77)
			}
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("error is %v", err)
			}
			if _, err := Open(where); err == nil {
				t.Error("a place that can't have the cgroup it was given is opened all the same")
			}
		})
	}
}

func TestLimitsOfVersion2(t *testing.T) {
	t.Parallel()
	g := openFake(t, map[string]string{"memory.swap.max": "max\n", "memory.oom.group": "0\n"})
	if err := g.Limit(100 << 20); err != nil {
		t.Fatal(err)
	}
	got := controls(t, g.dir)
	for name, want := range map[string]string{"memory.max": "104857600", "memory.swap.max": "0", "memory.oom.group": "1"} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	if err := g.Limit(0); err != nil || controls(t, g.dir)["memory.max"] != "max" {
		t.Errorf("lifted limit is %q, error %v", controls(t, g.dir)["memory.max"], err)
	}
}

// A kernel without swap accounting, or before 4.19, has fewer files.
func TestVersion2OfAnOlderKernelHasAMemoryLimitAllTheSame(t *testing.T) {
	t.Parallel()
	g := openFake(t, nil)
	if err := g.Limit(1 << 20); err != nil || controls(t, g.dir)["memory.max"] != "1048576" || g.PeakBytes() != 0 {
		t.Errorf("limit %q, peak %d, error %v", controls(t, g.dir)["memory.max"], g.PeakBytes(), err)
	}
	if err := os.Remove(filepath.Join(g.dir, "memory.max")); err != nil {
		t.Fatal(err)
	}
	if err := g.Limit(1 << 20); err == nil || !strings.Contains(err.Error(), "memory.max") {
		t.Errorf("error is %v", err)
	}
}

func TestOnlyAKillForItsOwnLimitIsThatOfVersion2(t *testing.T) {
	t.Parallel()
	for events, want := range map[string]bool{
		"low 0\nhigh 0\nmax 9\noom 2\noom_kill 1\n": false, // as it was when the limit was set
		// It reached its limit, and stayed below.
		"max 30\noom 2\noom_kill 1\n":                  false,
		"max 9\noom 2\noom_kill 3\noom_group_kill 1\n": false, // another cgroup's limit was reached
		"max 30\noom 3\noom_kill 3\n":                  true,
		"":                                             false,
	} {
		g := openFake(t, map[string]string{"memory.events": "oom 2\noom_kill 1\n", "memory.peak": "2097152\n"})
		if err := g.Limit(1 << 20); err != nil {
			t.Fatal(err)
		}
		fill(t, g.dir, map[string]string{"memory.events": events})
		if got := g.Exceeded(); got != want || g.PeakBytes() != 2<<20 {
			t.Errorf("%q: %v, want %v; peak %d", events, got, want, g.PeakBytes())
		}
	}
}

// The kernel exceeds a limit for a moment, and writes limits in whole pages.
func TestALimitThatSomeoneElseChangesCountsAsExceeded(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		files    map[string]string
		exceeded bool
		lifted   bool
	}{
		"as it was":       {map[string]string{"memory.current": "1048576\n"}, false, false},
		"a little over":   {map[string]string{"memory.current": "1100000\n"}, false, false},
		"clearly over":    {map[string]string{"memory.current": "2097152\n"}, true, false},
		"no limit":        {map[string]string{"memory.max": "max\n"}, true, true},
		"another limit":   {map[string]string{"memory.max": "2097152\n"}, true, true},
		"swap is allowed": {map[string]string{"memory.swap.max": "max\n"}, true, true},
	} {
		g := openFake(t, map[string]string{"memory.swap.max": "max\n"})
		if g.Exceeded() {
			t.Errorf("%s: exceeded before there is a limit", name)
		}
		if err := g.Limit(1 << 20); err != nil {
			t.Fatal(err)
		}
		fill(t, g.dir, tc.files)
		if g.Exceeded() != tc.exceeded || g.Lifted() != tc.lifted {
			t.Errorf("%s: exceeded %t, lifted %t, want %t, %t", name, g.Exceeded(), g.Lifted(), tc.exceeded, tc.lifted)
		}
	}
	g := openFake(t, nil)
	if err := errors.Join(g.Limit(1<<20), g.Limit(0)); err != nil || g.Exceeded() || g.Lifted() {
		t.Errorf("without a limit it is exceeded, error %v", err)
	}
}

func TestACgroupOfVersion2IsKilledAndRemoved(t *testing.T) {
	t.Parallel()
	g := openFake(t, map[string]string{"cgroup.kill": "", "cgroup.procs": "\n"})
	var killed string
	g.rmdir = func(dir string) error {
		killed = controls(t, dir)["cgroup.kill"]
		return os.RemoveAll(dir)
	}
	if err := g.end(); err != nil || killed != "1" {
		t.Errorf("cgroup.kill was %q, error %v", killed, err)
	}
}

// The real kernel: version 2 is mounted nearly everywhere, with or without the memory controller.
func TestAProcessBeginsInItsCgroupOfVersion2AndEndsWithIt(t *testing.T) {
	t.Parallel()
	dir := unifiedCgroup(t)
	groups := &cgroups{dir: dir, v2: true, mkdir: makeCgroup, rmdir: os.Remove}
	p, err := supervisorWith(t, groups).Start(Command{Line: []string{"/bin/sh", "-c", "setsid sleep 600 & while read line; do echo $line; done < /proc/self/cgroup; wait"}})
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(p.Output)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "0::") {
	}
	if want := "/" + filepath.Base(dir) + "/" + filepath.Base(p.Cgroup.dir); !strings.HasSuffix(lines.Text(), want) {
		t.Errorf("began in %q, want %q", lines.Text(), want)
	}
	inside := p.Cgroup.processes()
	if len(inside) != 2 || p.Alone() {
		t.Errorf("inside are %v, alone: %v", inside, p.Alone())
	}
	if err := p.Cgroup.end(); err != nil {
		t.Error(err)
	}
	if !p.Dead() {
		<-p.Exited()
	}
	for _, pid := range inside[1:] {
		if state, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); err == nil && !strings.Contains(string(state), ") Z ") {
			t.Errorf("process %d goes on", pid)
		}
	}
	p.End()
}

// unifiedCgroup makes a cgroup right below the mount of version 2.
func unifiedCgroup(t *testing.T) string {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mounts")
	for line := range strings.Lines(string(mounts)) {
		fields := strings.Fields(line)
		if fields[2] != "cgroup2" {
			continue
		}
		var dir string
		if dir, err = os.MkdirTemp(fields[1], "stoker-test-"); err == nil {
			t.Cleanup(func() {
				if err := os.Remove(dir); err != nil {
					t.Error(err)
				}
			})
			return dir
		}
	}
	t.Skip("no cgroup of version 2 can be made: ", err)
	return ""
}

// openFake opens a cgroup of version 2 in which a new one has only those files, and the ones that
// every kernel has.
func openFake(t *testing.T, files map[string]string) *Cgroup {
	t.Helper()
	c := &cgroups{dir: t.TempDir(), v2: true, rmdir: os.RemoveAll, mkdir: func(dir string) error {
		fill(t, fakeCgroup(t, dir, map[string]string{"memory.max": "max\n", "memory.events": "oom 0\noom_kill 0\n"}), files)
		return nil
	}}
	g, err := c.open("module-1")
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// fakeCgroup makes a directory with the files that every cgroup of version 2 has, some of them with
// another text.
func fakeCgroup(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	fill(t, dir, map[string]string{"cgroup.procs": "", "cgroup.subtree_control": "", "cgroup.controllers": ""})
	fill(t, dir, files)
	return dir
}

func fill(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// controls returns the files of a cgroup.
func controls(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, entry := range entries {
		if entry.IsDir() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[entry.Name()] = string(text)
	}
	return files
}
