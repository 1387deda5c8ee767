package cluster

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Server is one NATS server. A server that was killed is started again on the same files by Start.
type Server struct {
	Name string

	binary string
	dir    string
	routes []string // addresses of links

	mu     sync.Mutex
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	ended  chan struct{} // of cmd
	ports  ports
	offset time.Duration
	frozen bool
}

type ports struct{ Client, Cluster int }

// Start starts the server, which is down, and returns when it listens.
func (s *Server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd != nil {
		return fmt.Errorf("start %s: it is running", s.Name)
	}
	text, err := json.Marshal(map[string]any{"name": s.Name, "dir": s.dir, "routes": s.routes, "offset": s.offset})
	if err != nil {
		return err
	}
	said, err := os.OpenFile(s.dir+".out", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer said.Close()
	cmd := exec.Command(s.binary)
	cmd.Env, cmd.Stderr = append(os.Environ(), "STOKER_CLUSTER_SERVER="+string(text)), said
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", s.Name, err)
	}
	return s.began(cmd, stdin, stdout)
}

// began waits for the ports that the server prints, and needs s.mu.
func (s *Server) began(cmd *exec.Cmd, stdin io.WriteCloser, stdout io.Reader) error {
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &s.ports)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	if err != nil {
		_ = cmd.Process.Kill()
		<-ended
		text, _ := os.ReadFile(s.dir + ".out")
		return fmt.Errorf("start %s: %w: %s", s.Name, err, text)
	}
	s.cmd, s.stdin, s.ended, s.frozen = cmd, stdin, ended, false
	return nil
}

// Kill ends the server at once, like a power cut of its host that loses no writes, and returns when
// it has ended.
func (s *Server) Kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return nil
	}
	err := s.cmd.Process.Kill()
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill %s: %w", s.Name, err)
	}
	<-s.ended
	s.cmd, s.ports = nil, ports{}
	return nil
}

// Freeze stops the server's process without ending it, until Thaw.
func (s *Server) Freeze() error { return s.signal(syscall.SIGSTOP, true) }

// Thaw continues a frozen server.
func (s *Server) Thaw() error { return s.signal(syscall.SIGCONT, false) }

func (s *Server) signal(signal syscall.Signal, frozen bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return nil
	}
	s.frozen = frozen
	return s.cmd.Process.Signal(signal)
}

// SetClock puts the server's wall clock so far ahead of this machine's, behind it if negative, in
// this life and later ones.
func (s *Server) SetClock(offset time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offset = offset
	if s.cmd == nil {
		return nil
	}
	_, err := fmt.Fprintf(s.stdin, "%d\n", offset)
	return err
}

// Running reports whether the server is up and not frozen.
func (s *Server) Running() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil || s.frozen {
		return false
	}
	select {
	case <-s.ended:
		return false
	default:
		return true
	}
}

// Panicked returns what the server printed if that is a crash of its own, else "".
func (s *Server) Panicked() string {
	text, err := os.ReadFile(s.dir + ".out")
	if err == nil && (strings.Contains(string(text), "panic: ") || strings.Contains(string(text), "fatal error: ")) {
		return string(text)
	}
	return ""
}

// Log returns the path of the server's log.
func (s *Server) Log() string { return filepath.Clean(s.dir + ".log") }

func (s *Server) clientAddress() string  { return s.address(func(p ports) int { return p.Client }) }
func (s *Server) clusterAddress() string { return s.address(func(p ports) int { return p.Cluster }) }

func (s *Server) address(of func(ports) int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("127.0.0.1:%d", of(s.ports))
}
