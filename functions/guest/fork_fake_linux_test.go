package guest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// fakeServerEnv makes TestFakeForkServer, in a process of its own, what fork.py is: with children that are other programs, for Go
// can't fork. Its value says what it does.
const fakeServerEnv = "GUEST_TEST_FORK_SERVER"

// Behaviours of a fake server.
const (
	serves     = "serves"
	servesOnce = "serves once"
	refuses    = "refuses"
	fails      = "fails"   // before it is ready
	dawdles    = "dawdles" // and is never ready
)

func TestFakeForkServer(t *testing.T) {
	do := os.Getenv(fakeServerEnv)
	if do == "" {
		return // no test by itself
	}
	if do == dawdles {
		time.Sleep(time.Hour) // a select would be a deadlock
	}
	if do == fails {
		fmt.Println("no module named tensorflow")
		os.Exit(1)
	}
	if err := serveFake(do); err != nil {
		t.Fatal(err)
	}
	os.Exit(0)
}

func fakeServer(t *testing.T, do string) (line, env []string) {
	t.Helper()
	return []string{os.Args[0], "-test.run=^TestFakeForkServer$"}, append(os.Environ(), fakeServerEnv+"="+do)
}

func serveFake(do string) error {
	conn, err := net.FileConn(os.NewFile(4, "socket"))
	if err != nil {
		return err
	}
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return errors.New("no socket")
	}
	if _, err := socket.Write([]byte(`{"ready":true}`)); err != nil {
		return err
	}
	children := map[int]*exec.Cmd{}
	for {
		packet, control := make([]byte, 4<<10), make([]byte, 4<<10)
		n, controls, _, _, err := socket.ReadMsgUnix(packet, control)
		if n == 0 || err != nil {
			return nil // guest has gone
		}
		var request struct {
			Fork string
			Reap int
		}
		if err := json.Unmarshal(packet[:n], &request); err != nil {
			return err
		}
		answer := forkAnswer{Refused: "the weather"}
		switch {
		case request.Reap != 0:
			answer = reapFake(children[request.Reap])
		case do == serves || do == servesOnce && len(children) == 0:
			cmd, err := forkFake(request.Fork, control[:controls])
			if err != nil {
				return err
			}
			answer = forkAnswer{PID: cmd.Process.Pid}
			children[answer.PID] = cmd
		}
		text, err := json.Marshal(answer)
		if err != nil {
			return err
		}
		if _, err := socket.Write(text); err != nil {
			return err
		}
	}
}

// forkFake starts a cat: it ends when nobody writes to it any more.
func forkFake(mark string, control []byte) (*exec.Cmd, error) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil || len(messages) != 1 {
		return nil, fmt.Errorf("%d control messages: %w", len(messages), err)
	}
	descriptors, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(descriptors) != 3 {
		return nil, fmt.Errorf("%d descriptors: %w", len(descriptors), err)
	}
	cmd := exec.Command("/bin/cat")
	cmd.Env = []string{markEnv + "=" + mark}
	var files []*os.File
	for _, descriptor := range descriptors {
		files = append(files, os.NewFile(uintptr(descriptor), "end"))
	}
	defer closeAll(files...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = files[0], files[1], files[1], files[2:]
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return cmd, cmd.Start()
}

func reapFake(cmd *exec.Cmd) forkAnswer {
	_ = cmd.Wait() // how it ended stands in ProcessState
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	return forkAnswer{Status: uint32(status), MaxRSS: maxRSS(cmd.ProcessState) / rssUnit}
}
