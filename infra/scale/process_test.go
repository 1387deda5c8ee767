package scale_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// process is a process of the binary.
type process struct {
	t    *testing.T
	name string
	log  string // path of its log
	cmd  *exec.Cmd
	gone chan struct{}
	err  error // how it ended; may be read after gone is closed

	sent syscall.Signal // by the test
}

// start starts the binary in the environment of a container, and kills it at the end of the test.
func (w *world) start(name string, args ...string) *process {
	w.t.Helper()
	p := &process{t: w.t, name: name, log: filepath.Join(w.dir, name+".log"), gone: make(chan struct{})}
	out, err := os.Create(p.log)
	must(w.t, err)
	defer out.Close()
	p.cmd = exec.Command(w.binary, append(args, "--verbose")...)
	p.cmd.Env, p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = w.environ, w.dir, out, out
	must(w.t, p.cmd.Start())
	go func() {
		defer close(p.gone)
		p.err = p.cmd.Wait()
	}()
	w.t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.gone
		if w.t.Failed() {
			w.t.Logf("%s says:\n%s", p.name, p.said())
		}
	})
	return p
}

func (p *process) ended() bool {
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}

func (p *process) wait() { <-p.gone }

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	p.sent = s
	must(p.t, p.cmd.Process.Signal(s))
}

func (p *process) said() string {
	text, err := os.ReadFile(p.log)
	must(p.t, err)
	return string(text)
}

func (p *process) says(words string) bool { return strings.Contains(p.said(), words) }

// wantGood checks that the process had a job, and exited with status 0 unless it was killed.
func (p *process) wantGood() {
	p.t.Helper()
	if !p.says("job claimed") {
		p.t.Errorf("%s had no job:\n%s", p.name, p.said())
	}
	if p.err != nil && p.sent != syscall.SIGKILL {
		p.t.Errorf("%s ended with %v:\n%s", p.name, p.err, p.said())
	}
}
