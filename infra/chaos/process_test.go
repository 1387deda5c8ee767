package chaos

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is one part in an operating system process of its own. It is started again whenever it
// ends, until it is stopped.
type process struct {
	t    testing.TB
	part part
	cuts func() cut // of the next life
	log  string     // path of the log of all lives

	mu       sync.Mutex
	cmd      *exec.Cmd
	stopping bool // the test has sent SIGTERM
	stopped  bool
	address  chan string // what a bus prints at its first start
	ended    chan struct{}
}

// start begins the first life. The process is stopped when the test ends.
func start(t testing.TB, p part, cuts func() cut) *process {
	t.Helper()
	s := &process{
		t: t, part: p, cuts: cuts, log: filepath.Join(filepath.Dir(p.Cuts), p.Name+".log"),
		address: make(chan string, 1), ended: make(chan struct{}),
	}
	go s.keep()
	t.Cleanup(s.stop)
	return s
}

const betweenLives = 20 * time.Millisecond

// keep starts one life after another.
func (s *process) keep() {
	defer close(s.ended)
	for s.part.Life = 1; ; s.part.Life++ {
		s.part.Cut = s.cuts()
		err := s.live()
		if s.over(err) {
			return
		}
		time.Sleep(betweenLives)
	}
}

// live returns one life.
func (s *process) live() error {
	text, err := json.Marshal(s.part)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(s.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), partEnv+"="+string(text), "TMPDIR="+filepath.Dir(s.part.Cuts))
	cmd.Stderr = log
	stdin, err := cmd.StdinPipe() // ends with this process, and with it the part
	if err != nil {
		return err
	}
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.begin(cmd); err != nil {
		return err
	}
	if s.part.Role == roleBus {
		if line, err := firstLine(stdout); err == nil {
			s.listens(line)
		}
	}
	return cmd.Wait()
}

// begin starts cmd unless the process was stopped before.
func (s *process) begin(cmd *exec.Cmd) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil
	}
	s.cmd, s.stopping = cmd, false
	return cmd.Start()
}

// listens notes where a bus is to be found, in this life and all that follow.
func (s *process) listens(address string) {
	if s.part.Port > 0 {
		return
	}
	if at, err := url.Parse(address); err == nil {
		s.part.Port, _ = strconv.Atoi(at.Port())
	}
	s.address <- address
}

// over reports whether that was the last life. A life that ended neither as planned nor by the test
// is a failure.
func (s *process) over(err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return true
	}
	exit, _ := err.(*exec.ExitError)
	killed := exit != nil && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
	if !killed && !s.stopping {
		s.t.Errorf("%s ended by itself in life %d: %v", s.part.Name, s.part.Life, err)
	}
	return false
}

// end asks this life to end; another one follows.
func (s *process) end(signal syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil || s.cmd.Process == nil {
		return // it has not begun
	}
	s.stopping = true
	_ = s.cmd.Process.Signal(signal) // it may have just ended by itself
}

// wake continues a frozen process.
func (s *process) wake() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cmd.Process.Signal(syscall.SIGCONT)
}

// stop ends the process for good.
func (s *process) stop() {
	s.mu.Lock()
	s.stopped = true
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Process.Kill()
	}
	s.mu.Unlock()
	<-s.ended
}

// never returns a process's cuts where it has none.
func never() cut { return cut{} }

// inTurn hands out cuts, to whichever process begins a life, until there are no more.
func inTurn(cuts []cut) func() cut {
	var mu sync.Mutex
	return func() cut {
		mu.Lock()
		defer mu.Unlock()
		if len(cuts) == 0 {
			return cut{}
		}
		next := cuts[0]
		cuts = cuts[1:]
		return next
	}
}

// named names a process by its number.
func named(role string, number int) string { return fmt.Sprintf("%s-%d", role, number) }
