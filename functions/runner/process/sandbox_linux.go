package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Rights of Landlock, as in linux/landlock.h. Executing a file, listing a directory and an ioctl on
// a device are not restricted.
const (
	writeFile  = 1 << 1
	readFile   = 1 << 2
	removeDir  = 1 << 4
	removeFile = 1 << 5
	makeChar   = 1 << 6
	makeDir    = 1 << 7
	makeReg    = 1 << 8
	makeSock   = 1 << 9
	makeFIFO   = 1 << 10
	makeBlock  = 1 << 11
	makeSym    = 1 << 12
	refer      = 1 << 13 // rename and link between folders; version 2
	truncate   = 1 << 14 // version 3

	ofFiles = writeFile | readFile | truncate // what can be granted on a file
	all     = ofFiles | removeDir | removeFile | makeChar | makeDir | makeReg | makeSock | makeFIFO | makeBlock | makeSym | refer

	scopeAbstractSockets = 1 << 0 // version 6
	scopeSignals         = 1 << 1 // version 6
)

// Versions of Landlock that introduced the features used here.
const (
	// Linux 5.19: before that, files could not be moved between directories at all.
	landlockLeast    = 2
	landlockTruncate = 3 // Linux 6.2
	landlockScopes   = 6 // Linux 6.12
	landlockThreads  = 8 // Linux 7.0: all threads of a process enter a sandbox together
)

// landlockVersion returns the kernel's version, 0 if it has no Landlock or if it is switched off.
var landlockVersion = sync.OnceValue(func() int {
	const version = 1 // LANDLOCK_CREATE_RULESET_VERSION
	n, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, version)
	if errno != 0 {
		return 0
	}
	return int(n)
})

// CanSandbox returns an error if the kernel can't enforce an Access.
func CanSandbox() error {
	switch n := landlockVersion(); {
	case n == 0:
		return errors.New("this kernel has no Landlock, or Landlock is not enabled (boot parameter lsm=)")
	case n < landlockLeast:
		return fmt.Errorf("this kernel has Landlock version %d, but version %d is required (Linux 5.19)", n, landlockLeast)
	}
	return nil
}

// SandboxLacks lists the features that the kernel's Landlock is too old for; nothing if it has all
// that are used.
func SandboxLacks() (lacks []string) {
	if landlockVersion() < landlockTruncate {
		lacks = append(lacks, "files elsewhere can be cut off (Linux 6.2)")
	}
	if landlockVersion() < landlockScopes {
		lacks = append(lacks, "processes of the same user can be sent signals (Linux 6.12)")
	}
	return lacks
}

// Sandbox returns the access of a process with a home; nil if the kernel has no Landlock.
func (a Access) Sandbox(home string) *Sandbox {
	if CanSandbox() != nil {
		return nil
	}
	s := &Sandbox{Handled: all, AllThreads: landlockVersion() >= landlockThreads}
	if landlockVersion() < landlockTruncate {
		s.Handled &^= truncate
	}
	if landlockVersion() >= landlockScopes {
		s.Scoped = scopeAbstractSockets | scopeSignals
	}
	hidden := make([]string, 0, len(a.Hidden))
	for _, path := range a.Hidden {
		hidden = append(hidden, resolve(path))
	}
	for _, path := range around("/", hidden) {
		s.Rules = append(s.Rules, Rule{path, readFile})
	}
	for _, path := range slices.Concat(a.Write, []string{home}, devices()) {
		for _, part := range around(resolve(path), hidden) {
			s.Rules = append(s.Rules, Rule{part, all & s.Handled})
		}
	}
	return s
}

// devices returns the devices that programs write to: null and similar devices, shared memory,
// their own terminals, and GPUs.
func devices() []string {
	found := []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/shm", "/dev/ptmx", "/dev/kfd", "/dev/dri", "/dev/dxg",
		"/dev/infiniband"}
	nvidia, _ := filepath.Glob("/dev/nvidia*") // the only error is that of a bad pattern
	return append(found, nvidia...)
}

// resolve follows the links of a path, as far as it exists.
func resolve(path string) string {
	path = filepath.Clean(path)
	for rest := ""; ; {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return filepath.Join(real, rest)
		}
		if path == "/" || path == "." {
			return filepath.Join(path, rest)
		}
		path, rest = filepath.Dir(path), filepath.Join(filepath.Base(path), rest)
	}
}

// around lists paths that together contain everything that is now below dir, except hidden paths:
// dir itself if none is below it. Anything that is added later to a directory on the way to a
// hidden path is hidden too.
func around(dir string, hidden []string) (paths []string) {
	below := slices.DeleteFunc(slices.Clone(hidden), func(path string) bool { return path != dir && !isBelow(path, dir) })
	if slices.Contains(below, dir) {
		return nil
	}
	if len(below) == 0 {
		return []string{dir}
	}
	entries, _ := os.ReadDir(dir) // those that could be read
	for _, entry := range entries {
		if entry.Type()&fs.ModeSymlink == 0 { // its target has a path of its own
			paths = append(paths, around(filepath.Join(dir, entry.Name()), below)...)
		}
	}
	return paths
}

func isBelow(path, dir string) bool {
	return dir == "/" || strings.HasPrefix(path, dir+"/")
}

// enter confines the calling thread, and everything it starts from now on, to the sandbox, but not
// the other threads of this process.
func (s *Sandbox) enter() error {
	if s == nil {
		return nil
	}
	attr := struct{ fs, net, scoped uint64 }{fs: s.Handled, scoped: s.Scoped}
	size := unsafe.Sizeof(attr)
	if s.Scoped == 0 {
		size = unsafe.Sizeof(attr.fs) // all that the first versions support
	}
	ruleset, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return fmt.Errorf("create a sandbox: %w", errno)
	}
	defer unix.Close(int(ruleset))
	for _, rule := range s.Rules {
		if err := rule.add(int(ruleset)); err != nil {
			return fmt.Errorf("create a sandbox: %s: %w", rule.Path, err)
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0); errno != 0 {
		return fmt.Errorf("enter a sandbox: %w", errno)
	}
	return nil
}

// add grants nothing on a path that does not exist, or that this user can't access.
func (r Rule) add(ruleset int) error {
	fd, err := unix.Open(r.Path, unix.O_PATH|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EACCES), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ENXIO), errors.Is(err, unix.EPERM):
		return nil
	case err != nil:
		return err
	}
	defer unix.Close(fd)
	var state unix.Stat_t
	if err := unix.Fstat(fd, &state); err != nil {
		return err
	}
	rights := r.Rights
	if state.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= ofFiles
	}
	const pathBeneath = 1 // LANDLOCK_RULE_PATH_BENEATH
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), pathBeneath, uintptr(unsafe.Pointer(&attr)), 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// HideSecrets keeps other processes of the same user, including those started here, from reading
// this process's environment and memory, which contain the credentials of the bus and the store
// (PR_SET_DUMPABLE(2const)).
func HideSecrets() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("hide this process's memory from modules: %w", err)
	}
	return nil
}
