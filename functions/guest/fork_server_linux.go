package guest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stoker-ml/stoker/functions/module"
)

// forkServer is a process that has imported everything and forks a child for each job: what takes seconds to load is there at
// once. Its children are processes like any other, in groups, homes and cgroups of their own. fork.py is its other side and
// documents what they say; forkPool knows when one is started and ended.
type forkServer struct {
	process *process
	log     *boundedLog   // what it prints
	ready   chan struct{} // closed when it can fork, or never will
	failed  error         // why it never will; to be read when ready is closed
	size    int64         // resident bytes when it was ready

	asking sync.Mutex // one question at a time
	socket *net.UnixConn
	broken error // it did not answer: nothing is asked any more
}

// forkAnswer is any word of the server.
type forkAnswer struct {
	Ready   bool   `json:"ready"`
	Refused string `json:"refused"`
	PID     int    `json:"pid"`
	Status  uint32 `json:"status"` // as of wait(2)
	MaxRSS  int64  `json:"maxrss"` // in rssUnit
}

// Bounds of what is asked of a server.
const (
	answerTime  = 30 * time.Second // for one answer: it does nothing else, but may have to wait for a processor
	answerBytes = 64 << 10
)

// forkEnv names the descriptor of the server's end of the socket. Standard input and output and progress come before it.
const forkEnv = "STOKER_FORK_FD"

// markRoom is what a server's mark is longer than its home, by slashes: its children write the marks of their own homes over it,
// which differ by the digits of a random number.
const markRoom = 16

// startForkServer runs a command that is to become a server. It is to be greeted.
func startForkServer(dir string, cgroups *cgroups, line, env []string) (*forkServer, error) {
	ours, theirs, err := packetPair()
	if err != nil {
		return nil, fail(KindHost, fmt.Errorf("start %s: %w", line[0], err))
	}
	defer theirs.Close()
	p, err := begin(dir, cgroups, line[0], func(p *process, ends *childEnds) (leader, error) {
		cmd := exec.Command(line[0], line[1:]...)
		cmd.Env = append(env[:len(env):len(env)], "HOME="+p.home, "TMPDIR="+p.home, markEnv+"="+p.home+strings.Repeat("/", markRoom),
			module.ProgressEnv+"=3", forkEnv+"=4")
		cmd.ExtraFiles = []*os.File{theirs}
		return ends.run(cmd, p)
	})
	if err != nil {
		closeAll(ours)
		return nil, err
	}
	s := &forkServer{process: p, log: &boundedLog{}, ready: make(chan struct{})}
	conn, err := net.FileConn(ours) // of a copy
	closeAll(ours)
	s.socket, _ = conn.(*net.UnixConn)
	if err != nil || s.socket == nil {
		p.end()
		return nil, fail(KindHost, fmt.Errorf("start %s: speak with it: %w", line[0], err))
	}
	return s, nil
}

// packetPair makes a socket that keeps packets apart (unix(7), SOCK_SEQPACKET).
func packetPair() (ours, theirs *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a pair of sockets: %w", err)
	}
	return os.NewFile(uintptr(pair[0]), "fork server"), os.NewFile(uintptr(pair[1]), "fork server"), nil
}

// greet waits for the server's first word.
func (s *forkServer) greet() {
	defer close(s.ready)
	first, err := s.read()
	if err == nil && !first.Ready {
		err = errors.New("its first word is not that it is ready")
	}
	if err != nil {
		s.failed = fmt.Errorf("no process is warm: %w; the end of its log: %s", err, lastLine(s.log.tail()))
		return
	}
	s.size, _ = residentBytes(s.process.pid())
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// keepLog returns when the server has ended.
func (s *forkServer) keepLog() { _, _ = io.Copy(s.log, s.process.output) }

// fit says whether it may fork on: one that has grown would hand its growth down.
func (s *forkServer) fit() bool {
	s.asking.Lock()
	defer s.asking.Unlock()
	size, _ := residentBytes(s.process.pid())
	return s.broken == nil && !s.process.dead() && size <= s.size+keptBytes
}

// ask sends one request and reads its answer. A server that doesn't answer once is asked no more: what it says later would be the
// answer to something else. Its children work on.
func (s *forkServer) ask(request any, files ...*os.File) (answer forkAnswer, err error) {
	s.asking.Lock()
	defer s.asking.Unlock()
	if s.broken == nil {
		answer, s.broken = s.exchange(request, files)
	}
	if s.broken != nil {
		return answer, fmt.Errorf("ask the warm process: %w", s.broken)
	}
	return answer, nil
}

func (s *forkServer) exchange(request any, files []*os.File) (forkAnswer, error) {
	text, err := json.Marshal(request)
	if err != nil {
		return forkAnswer{}, err
	}
	var descriptors []int
	for _, file := range files {
		descriptors = append(descriptors, int(file.Fd())) // which makes it block, as a child expects
	}
	if err := s.socket.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return forkAnswer{}, err
	}
	if _, _, err := s.socket.WriteMsgUnix(text, rights(descriptors), nil); err != nil {
		return forkAnswer{}, err
	}
	return s.read()
}

func rights(descriptors []int) []byte {
	if len(descriptors) == 0 {
		return nil
	}
	return unix.UnixRights(descriptors...)
}

func (s *forkServer) read() (answer forkAnswer, err error) {
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

// end kills the server, and with it the children that it still has.
func (s *forkServer) end() {
	s.process.end()
	_ = s.socket.Close() // nothing more to say
}
