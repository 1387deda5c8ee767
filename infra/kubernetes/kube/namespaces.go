package kube

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// insideEnv is the folder of the servers, in the process that runs the tests.
const insideEnv = "STOKER_KUBERNETES_INSIDE"

// Main runs a test binary in network, mount and process namespaces of its own, whose first process
// it is. When it ends, for whatever reason, the kernel ends all processes in them. inside gets a
// folder for its files, and returns the exit status. Main fails if a process, a mount, a control
// group or a file is left.
//
// The first process is this binary again. So are the nodes that it starts.
func Main(inside func(dir string) int) int {
	if node := os.Getenv(nodeEnv); node != "" {
		fmt.Fprintln(os.Stderr, "kubernetes:", runNode(node))
		return 1
	}
	if dir := os.Getenv(insideEnv); dir != "" {
		if err := enter(); err != nil {
			fmt.Fprintln(os.Stderr, "kubernetes:", err)
			return 1
		}
		return inside(dir)
	}
	code, err := outside()
	if err != nil {
		fmt.Fprintln(os.Stderr, "kubernetes:", err)
		code = max(code, 1)
	}
	return code
}

// outside runs this binary again, inside, and returns its exit status.
func outside() (int, error) {
	if os.Geteuid() != 0 {
		return 1, errors.New("namespaces need root: run it as root, on a machine of its own")
	}
	self, err := os.Executable()
	if err != nil {
		return 1, err
	}
	dir, err := os.MkdirTemp("", "stoker-kubernetes-")
	if err != nil {
		return 1, err
	}
	runtime.LockOSThread() // Pdeathsig is sent when this thread ends
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Env = append(os.Environ(), insideEnv+"="+dir)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID,
		Pdeathsig:  syscall.SIGKILL,
	}
	if err := cmd.Start(); err != nil {
		return 1, errors.Join(fmt.Errorf("start in namespaces: %w", err), os.RemoveAll(dir))
	}
	spaces := namespaces(fmt.Sprint(cmd.Process.Pid))
	defer endOn(cmd.Process, syscall.SIGINT, syscall.SIGTERM)()
	err = cmd.Wait()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		err = nil // the tests have printed why
	}
	// Processes first: other namespaces may soon have the same names.
	err = errors.Join(err, noProcessLeft(spaces), removeGroups(groupName(dir)), os.RemoveAll(dir), noFileLeft(dir))
	return cmd.ProcessState.ExitCode(), err
}

// endOn kills a process when this one gets one of the signals, so that it can clean up.
func endOn(process *os.Process, signals ...os.Signal) (stop func()) {
	got := make(chan os.Signal, 1)
	signal.Notify(got, signals...)
	go func() {
		for range got {
			_ = process.Kill()
		}
	}()
	return func() { signal.Stop(got); close(got) }
}

// namespaces returns those of a process: net:[4026532201] and so on.
func namespaces(pid string) []string {
	var all []string
	for _, kind := range []string{"net", "mnt", "pid"} {
		if link, err := os.Readlink(filepath.Join("/proc", pid, "ns", kind)); err == nil {
			all = append(all, link)
		}
	}
	return all
}

// noProcessLeft returns an error if a process is in one of the namespaces.
func noProcessLeft(spaces []string) error {
	if len(spaces) != 3 {
		return fmt.Errorf("expected the names of three namespaces, got %v", spaces)
	}
	var left []error
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return err
	}
	for _, process := range processes {
		pid := filepath.Base(process)
		if got := strings.Join(namespaces(pid), " "); containsAny(got, spaces) {
			command, _ := os.ReadFile(filepath.Join(process, "cmdline"))
			left = append(left, fmt.Errorf("process %s is left: %s", pid, strings.ReplaceAll(string(command), "\x00", " ")))
		}
	}
	return errors.Join(left...)
}

// noFileLeft returns an error if dir, or a mount in it, is there.
func noFileLeft(dir string) error {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if strings.Contains(string(mounts), dir) {
		err = errors.Join(err, fmt.Errorf("a mount is left: %s", mounts))
	}
	if _, missing := os.Stat(dir); !errors.Is(missing, os.ErrNotExist) {
		err = errors.Join(err, fmt.Errorf("%s is left: %v", dir, missing))
	}
	return err
}

func containsAny(text string, words []string) bool {
	for _, word := range words {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// enter makes the new namespaces usable: mounts that nobody else sees, the processes of this
// namespace in /proc, and a loopback device that is up.
func enter() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	return linkUp("lo")
}
