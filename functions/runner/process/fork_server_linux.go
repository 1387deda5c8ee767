package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ForkServer is a process that has loaded libraries that take seconds to load, and forks a child
// for each job. Its children are processes like any other, in groups, homes and cgroups of their
// own; the kernel ends them with the server. Its protocol is documented by the other side, fork.py
// of functions/runner/python.
type ForkServer struct {
	*Process

	supervisor *Supervisor
	ready      chan struct{}
	failed     error // to be read when ready is closed
	size       int64 // resident bytes when it was ready

	asking sync.Mutex // one request at a time
	socket *net.UnixConn
	broken error // it did not answer: no further requests are sent
}

// answer is a message of the server.
type answer struct {
	Ready   bool   `json:"ready"`
	Refused string `json:"refused"`
	PID     int    `json:"pid"`
	Status  uint32 `json:"status"` // as of wait(2)
	MaxRSS  int64  `json:"maxrss"` // in rssUnit
}

// Limits of requests to a server.
const (
	// The limit for one answer: the server has nothing else to do, but may have to wait for a
	// processor.
	answerTime  = 30 * time.Second
	answerBytes = 64 << 10
	lastWords   = 5 * time.Second // for the log of one that failed before it was ready
)

// forkEnv names the descriptor of the server's end of the socket. It comes after standard input and
// output and progress.
const forkEnv = "STOKER_FORK_FD"

// markPadding is by how many slashes a server's mark is longer than its home: its children
// overwrite it with the marks of their own homes, which differ in the digits of a random number.
const markPadding = 16

// StartForkServer runs a command that becomes a server. access limits what it and its children may
// do with files; nil: what this process may. The caller calls Wait at once.
func (l *Supervisor) StartForkServer(line, env []string, access *Access) (*ForkServer, error) {
	ours, theirs, err := packetPair()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", line[0], err)
	}
	defer theirs.Close()
	p, err := l.begin(line[0], nil, func(p *Process, ends *childEnds) (leader, error) {
		cmd := exec.Command(line[0], line[1:]...)
		cmd.Env = append(p.environment(env, p.Home+strings.Repeat("/", markPadding)), forkEnv+"=4")
		cmd.ExtraFiles = []*os.File{theirs}
		if access != nil {
			ends.sandbox = access.Sandbox(p.Home)
		}
		return ends.run(cmd, p, nil)
	})
	if err != nil {
		closeAll(ours)
		return nil, err
	}
	s := &ForkServer{Process: p, supervisor: l, ready: make(chan struct{})}
	conn, err := net.FileConn(ours) // of a copy
	closeAll(ours)
	s.socket, _ = conn.(*net.UnixConn)
	if err != nil || s.socket == nil {
		p.End()
		return nil, fmt.Errorf("start %s: connect to it: %w", line[0], err)
	}
	return s, nil
}

// packetPair makes a socket that preserves the boundaries of packets (unix(7), SOCK_SEQPACKET).
func packetPair() (ours, theirs *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a pair of sockets: %w", err)
	}
	return os.NewFile(uintptr(pair[0]), "fork server"), os.NewFile(uintptr(pair[1]), "fork server"), nil
}

// Wait writes the server's output to log, and returns when the server has ended.
func (s *ForkServer) Wait(log io.Writer) {
	printed := make(chan struct{})
	go func() { defer close(printed); _, _ = io.Copy(log, s.Output) }()
	if s.failed = s.greet(); s.failed != nil {
		select { // its log says why it failed, and its end is reported separately from the socket
		case <-printed:
		case <-time.After(lastWords):
		}
	}
	close(s.ready)
	<-printed
}

// greet waits for the server's first message.
func (s *ForkServer) greet() error {
	first, err := s.read()
	if err == nil && !first.Ready {
		err = errors.New("its first message does not report that it is ready")
	}
	s.size, _ = s.ResidentBytes()
	return err
}

// Ready is closed when the server can fork, or never will.
func (s *ForkServer) Ready() <-chan struct{} { return s.ready }

// Failed returns why the server never will, once Ready is closed.
func (s *ForkServer) Failed() error { return s.failed }

// Fit reports whether the server may fork again, having grown by at most growth bytes since it was
// ready: its children inherit the growth.
func (s *ForkServer) Fit(growth int64) bool {
	s.asking.Lock()
	defer s.asking.Unlock()
	size, _ := s.ResidentBytes()
	return s.broken == nil && !s.Dead() && size <= s.size+growth
}

// ask sends one request and reads its answer. Once a server has failed to answer it gets no more
// requests, because a late answer would be taken for that of another request. Its children
// continue.
func (s *ForkServer) ask(request any, files ...*os.File) (answer answer, err error) {
	s.asking.Lock()
	defer s.asking.Unlock()
	if s.broken == nil {
		answer, s.broken = s.exchange(request, files)
	}
	if s.broken != nil {
		return answer, fmt.Errorf("send a request to the process: %w", s.broken)
	}
	return answer, nil
}

func (s *ForkServer) exchange(request any, files []*os.File) (answer, error) {
	text, err := json.Marshal(request)
	if err != nil {
		return answer{}, err
	}
	var descriptors []int
	for _, file := range files {
		descriptors = append(descriptors, int(file.Fd())) // makes it block, as a child expects
	}
	if err := s.socket.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return answer{}, err
	}
	if _, _, err := s.socket.WriteMsgUnix(text, rights(descriptors), nil); err != nil {
		return answer{}, err
	}
	return s.read()
}

func rights(descriptors []int) []byte {
	if len(descriptors) == 0 {
		return nil
	}
	return unix.UnixRights(descriptors...)
}

func (s *ForkServer) read() (answer answer, err error) {
	packet := make([]byte, answerBytes)
	n, err := s.socket.Read(packet)
	if err != nil {
		return answer, err
	}
	if n == 0 {
		return answer, io.ErrUnexpectedEOF
	}
	return answer, json.Unmarshal(packet[:n], &answer)
}

// End kills the server, and with it the children that it still has.
func (s *ForkServer) End() {
	s.Process.End()
	_ = s.socket.Close() // nothing more to send
}

// forked is a leader that a ForkServer made. It is the server's child, and only the server can wait
// for it: a pidfd reports its exit, and the server keeps it a zombie until it is asked to reap it.
type forked struct {
	server *ForkServer
	number int
	pidfd  int
	reaped func() // called at the end of reap
}

// Fork has the server make a process, started by the server's Supervisor. reaped is called when
// that has been waited for.
func (s *ForkServer) Fork(reaped func()) (*Process, error) {
	return s.supervisor.begin("a child of process "+strconv.Itoa(s.PID()), s.Process, func(p *Process, ends *childEnds) (leader, error) {
		answer, err := s.ask(map[string]string{"fork": p.Home}, ends.stdin, ends.output, ends.progress)
		if err != nil {
			return nil, err
		}
		if answer.Refused != "" || answer.PID <= 0 {
			return nil, fmt.Errorf("it could not fork: %s", answer.Refused)
		}
		child := &forked{server: s, number: answer.PID, reaped: reaped}
		if child.pidfd, err = unix.PidfdOpen(answer.PID, 0); err != nil {
			return nil, errors.Join(fmt.Errorf("open process %d: %w", answer.PID, err), child.drop())
		}
		if err = p.Cgroup.move(answer.PID); err != nil { // it has allocated next to nothing yet
			return nil, errors.Join(err, unix.Close(child.pidfd), child.drop())
		}
		return child, nil
	})
}

// drop ends a child that has not begun.
func (f *forked) drop() error {
	if err := syscall.Kill(f.number, syscall.SIGKILL); err != nil {
		return err
	}
	_, err := f.server.ask(map[string]int{"reap": f.number})
	return err
}

func (f *forked) pid() int { return f.number }

// held is false once the server is gone: its children are then gone too, and their ids may be
// reused.
func (f *forked) held() bool { return !f.server.Dead() }

func (f *forked) await() {
	for {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(f.pidfd), Events: unix.POLLIN}}, -1)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

func (f *forked) reap() Exit {
	defer f.reaped()
	_ = unix.Close(f.pidfd)
	answer, err := f.server.ask(map[string]int{"reap": f.number})
	if err != nil {
		return Exit{Status: syscall.WaitStatus(syscall.SIGKILL), Unknown: true}
	}
	return Exit{Status: syscall.WaitStatus(answer.Status), MaxRSSBytes: answer.MaxRSS * rssUnit}
}
