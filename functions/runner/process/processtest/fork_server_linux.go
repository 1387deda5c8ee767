package processtest

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

// doEnv names the variable that chooses what the server does, in its own process.
const doEnv = "PROCESSTEST_SERVER"

// What a server can do.
const (
	Serves     = "serves"
	ServesOnce = "serves once"
	Refuses    = "refuses" // each request, with an arbitrary reason
	Fails      = "fails"   // before it is ready: it has no module named tensorflow
	Dawdles    = "dawdles" // it is never ready
)

// Command returns the command of a server in a process of its own. The test's package must have a
// TestServer, which calls Serve.
func Command(t *testing.T, do string) (line, env []string) {
	t.Helper()
	return []string{os.Args[0], "-test.run=^TestServer$"}, append(os.Environ(), doEnv+"="+do)
}

// Serve does what fork.py does, with children that are other programs, because Go can't fork. It is
// not a test by itself.
func Serve(t *testing.T) {
	t.Helper()
	do := os.Getenv(doEnv)
	if do == "" {
		return
	}
	if do == Dawdles {
		time.Sleep(time.Hour) // a select would be a deadlock
	}
	if do == Fails {
		fmt.Println("no module named tensorflow")
		os.Exit(1)
	}
	if err := serve(do); err != nil {
		t.Fatal(err)
	}
	os.Exit(0)
}

// answer is a message of the server.
type answer struct {
	Refused string `json:"refused,omitempty"`
	PID     int    `json:"pid,omitempty"`
	Status  uint32 `json:"status"`
	MaxRSS  int64  `json:"maxrss"` // in KiB
}

func serve(do string) error {
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
			return nil // the client is gone
		}
		var request struct {
			Fork string
			Reap int
		}
		if err := json.Unmarshal(packet[:n], &request); err != nil {
			return err
		}
		said := answer{Refused: "the weather"}
		switch {
		case request.Reap != 0:
			said = reap(children[request.Reap])
		case do == Serves || do == ServesOnce && len(children) == 0:
			cmd, err := fork(request.Fork, control[:controls])
			if err != nil {
				return err
			}
			said = answer{PID: cmd.Process.Pid}
			children[said.PID] = cmd
		}
		text, err := json.Marshal(said)
		if err != nil {
			return err
		}
		if _, err := socket.Write(text); err != nil {
			return err
		}
	}
}

// fork starts a cat, which ends when its input is closed.
func fork(mark string, control []byte) (*exec.Cmd, error) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil || len(messages) != 1 {
		return nil, fmt.Errorf("%d control messages: %w", len(messages), err)
	}
	descriptors, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(descriptors) != 3 {
		return nil, fmt.Errorf("%d descriptors: %w", len(descriptors), err)
	}
	cmd := exec.Command("/bin/cat")
	cmd.Env = []string{"STOKER_MODULE=" + mark}
	var files []*os.File
	for _, descriptor := range descriptors {
		file := os.NewFile(uintptr(descriptor), "end")
		defer file.Close()
		files = append(files, file)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = files[0], files[1], files[1], files[2:]
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	return cmd, cmd.Start()
}

func reap(cmd *exec.Cmd) answer {
	_ = cmd.Wait() // ProcessState tells how it ended
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	usage, _ := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return answer{Status: uint32(status), MaxRSS: usage.Maxrss}
}
