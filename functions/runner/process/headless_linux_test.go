package process

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// headlessEnv names the file to which this test binary writes from a second thread, after its first one has exited.
const headlessEnv = "STOKER_TEST_HEADLESS"

func init() { // which runs on the first thread
	path := os.Getenv(headlessEnv)
	if path == "" || unix.Gettid() != os.Getpid() {
		return
	}
	go func() {
		runtime.LockOSThread()
		for fd, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_CREAT, 0o600); err == nil; time.Sleep(5 * time.Millisecond) {
			_, err = syscall.Write(fd, []byte("."))
		}
	}()
	for { // until the other thread is at work
		if info, err := os.Stat(path); err == nil && info.Size() > 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	_, _, _ = syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0)
}

// A process of which only the first thread has exited is no zombie, whatever its state says.
func TestAProcessWhoseFirstThreadHasExitedEndsWithItsJob(t *testing.T) {
	for name, keep := range map[string]string{"without its mark": "/usr/bin/env -i ", "with its mark": ""} {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir() + "/written"
			script := fmt.Sprintf("read line; %ssetsid /bin/sh -c '%s=%s \"%s\" & echo $!'; read line", keep, headlessEnv, path, os.Args[0])
			p, err := supervisorWith(t, nil).Start(Command{Line: []string{"/bin/sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"}})
			if err != nil {
				t.Fatal(err)
			}
			p.SetBusy(true)
			if _, err := p.Stdin.WriteString("\n"); err != nil {
				t.Fatal(err)
			}
			pid := orphanOf(t, p)
			awaitHeadless(t, pid)
			if p.Alone() {
				t.Error("the process is not seen")
			}
			p.End()
			if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
				t.Errorf("process %d outlives its job: %v", pid, err)
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		})
	}
}

// awaitHeadless returns when the first thread of a process has exited.
func awaitHeadless(t *testing.T, pid int) {
	t.Helper()
	for range 3000 { // far more than it takes: so that a red test ends
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(stat), ") Z ") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("its first thread runs on")
}
