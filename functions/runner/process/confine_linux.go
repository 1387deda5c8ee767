package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// check tries a namespace for the network where one is wanted: the kernel makes it before it looks for the program, which is not there.
func (c Confinement) check() error {
	if !c.NoNetwork {
		return nil
	}
	probe := exec.Command("/nonexistent/stoker-probe")
	probe.SysProcAttr = groupOfItsOwn()
	c.isolate(probe.SysProcAttr)
	if err := probe.Start(); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("modules without a network: the kernel refuses a network namespace to this user (%w): allow unprivileged user "+
			"namespaces (sysctl user.max_user_namespaces, and the container's seccomp and AppArmor profiles), or leave out %s=none", err, networkEnv)
	}
	return nil
}

// CanIsolate says whether processes can be started without a network; if not, err says why.
func CanIsolate() error { return Confinement{NoNetwork: true}.check() }

// isolate has the process begin in an empty network namespace, in which not even loopback is up. Who may not make one, like every user
// but root, makes it within a user namespace in which he is himself and has no more rights outside than before (user_namespaces(7)).
func (c Confinement) isolate(attr *syscall.SysProcAttr) {
	if !c.NoNetwork {
		return
	}
	attr.Cloneflags |= syscall.CLONE_NEWNET
	if os.Geteuid() == 0 {
		return
	}
	attr.Cloneflags |= syscall.CLONE_NEWUSER
}

// mapUser makes this user and group known within the user namespace of a process that has just begun to execute its program, and those
// alone. Until then the process has none; it waits for its assignment.
//
// Package syscall would write the same before the program is executed, which fails here: the child has the memory of this process then,
// which is not dumpable (HideSecrets), so that only root may write the child's files in /proc (proc_pid_uid_map(5)).
func (c Confinement) mapUser(pid int) error {
	if !c.NoNetwork || os.Geteuid() == 0 {
		return nil
	}
	for _, file := range []struct{ name, text string }{
		{"setgroups", "deny"}, // without it nobody may map a group
		{"uid_map", fmt.Sprintf("%d %[1]d 1", os.Geteuid())},
		{"gid_map", fmt.Sprintf("%d %[1]d 1", os.Getegid())},
	} {
		if err := os.WriteFile(fmt.Sprintf("/proc/%d/%s", pid, file.name), []byte(file.text), 0); err != nil && !hasExited(pid) {
			return fmt.Errorf("map user and group of a process without a network: %w", err)
		}
	}
	return nil
}

// hasExited says whether a child has exited, which it is not waited for by that.
func hasExited(pid int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
	return err == nil && info.Signo != 0
}

// limit sets the limits of a process that has just started. It waits for its assignment then, and what it starts before that is
// counted from its next child on.
func (c Confinement) limit(pid int) error {
	for resource, most := range c.most(tasks()) {
		var now unix.Rlimit
		if err := unix.Prlimit(pid, resource, nil, &now); err != nil {
			return gone(err)
		}
		limit := lowered(now, most)
		if err := unix.Prlimit(pid, resource, &limit, nil); err != nil {
			return gone(err)
		}
	}
	return nil
}

// limits are those of a process that has a user ID for itself, for it to set.
func (c Confinement) limits() (map[int]unix.Rlimit, error) {
	limits := map[int]unix.Rlimit{}
	for resource, most := range c.most(0) {
		var now unix.Rlimit
		if err := unix.Getrlimit(resource, &now); err != nil {
			return nil, fmt.Errorf("look at limits: %w", err)
		}
		limits[resource] = lowered(now, most)
	}
	return limits, nil
}

// most are the limits of a process, of whose user there are some processes and threads already.
func (c Confinement) most(others int) map[int]uint64 {
	if c == (Confinement{}) {
		return nil // nobody said Confine
	}
	limits := map[int]uint64{
		unix.RLIMIT_CORE:   0, // it may hold what was learnt from
		unix.RLIMIT_NOFILE: uint64(c.OpenFiles),
		unix.RLIMIT_NPROC:  uint64(others + c.Processes),
	}
	if c.FileBytes > 0 {
		limits[unix.RLIMIT_FSIZE] = uint64(c.FileBytes)
	}
	return limits
}

// lowered is a limit of at most that much.
func lowered(now unix.Rlimit, most uint64) unix.Rlimit {
	most = min(most, now.Max)
	return unix.Rlimit{Cur: min(most, now.Cur), Max: most}
}

// gone: a process that has exited already needs no limits.
func gone(err error) error {
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return fmt.Errorf("set limits: %w", err)
}

// tasks counts the processes and threads of this machine (proc_loadavg(5)). RLIMIT_NPROC counts those of a user alone, which are no more;
// to count them would take longer than to start a module.
func tasks() int {
	var running, all int
	var load [3]float64
	text, err := os.ReadFile("/proc/loadavg")
	if err == nil {
		_, err = fmt.Sscanf(string(text), "%f %f %f %d/%d", &load[0], &load[1], &load[2], &running, &all)
	}
	if err != nil {
		return 0
	}
	return all
}
