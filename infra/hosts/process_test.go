//go:build hosts

package hosts

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// process is kept running as by a service manager: it is started again whenever it ends, unless the
// test stopped it.
type process struct {
	t    *testing.T
	name string
	log  string // path of the log of all its lives
	make func() *exec.Cmd

	mu      sync.Mutex
	cmd     *exec.Cmd
	away    bool
	over    bool
	changed *sync.Cond
	ended   chan struct{}
}

const betweenLives = 500 * time.Millisecond

// keep starts a process on a host. It ends with the test.
func (c *cluster) keep(h *host, name string, env []string, args ...string) *process {
	c.t.Helper()
	p := &process{t: c.t, name: name + "-" + h.name, ended: make(chan struct{})}
	p.log = filepath.Join(c.dir, p.name+".log")
	p.changed = sync.NewCond(&p.mu)
	p.make = func() *exec.Cmd {
		cmd := h.command(args...)
		cmd.Env, cmd.Dir = env, c.dir
		return cmd
	}
	go p.live()
	c.t.Cleanup(p.stop)
	return p
}

func (p *process) live() {
	defer close(p.ended)
	for p.begin() {
		_ = p.cmd.Wait()
		time.Sleep(betweenLives)
	}
}

// begin waits until it may, and is false when it never may again.
func (p *process) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.away && !p.over {
		p.changed.Wait()
	}
	if p.over {
		return false
	}
	out, err := os.OpenFile(p.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		p.t.Errorf("%s: %v", p.name, err)
		return false
	}
	defer out.Close()
	p.cmd = p.make()
	p.cmd.Stdout, p.cmd.Stderr = out, out
	if err := p.cmd.Start(); err != nil {
		p.t.Errorf("%s: %v", p.name, err)
		return false
	}
	return true
}

// kill ends it without a word; it stays away until back.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away = true
	_ = p.cmd.Process.Kill() // ip has executed the program in its own process
}

func (p *process) back() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away = false
	p.changed.Broadcast()
}

func (p *process) stop() {
	p.mu.Lock()
	p.over = true
	p.changed.Broadcast()
	if p.cmd != nil && p.cmd.Process != nil {
		_ = p.cmd.Process.Kill()
	}
	p.mu.Unlock()
	<-p.ended
	if p.t.Failed() {
		said := p.said()
		p.t.Logf("%s said at last:\n%s", p.name, said[max(0, len(said)-4000):])
	}
}

func (p *process) said() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return ""
	}
	return string(text)
}

func (p *process) count(words string) int { return strings.Count(p.said(), words) }
