package runner

import (
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stoker-ml/stoker/functions/module"
)

func TestAnIdleProcessThatIsNotAsItWasIsNotTaken(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, p *child){
		"it has left":                  func(_ *testing.T, p *child) { p.Signal(syscall.SIGKILL); <-p.Exited() },
		"it said something":            sayNow,
		"it is large for the next job": func(_ *testing.T, p *child) { p.served = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool, _ := catPool(t, 1)
			pool.putBack(take(t, pool))
			idle := pool.idle[0]
			change(t, idle)
			p, err := pool.take(4 << 10)
			if err != nil {
				t.Fatal(err)
			}
			defer p.End()
			if p == idle {
				t.Error("it was taken")
			}
		})
	}
}

// sayNow has a cat print, and returns when the text is in the pipe.
func sayNow(t *testing.T, p *child) {
	t.Helper()
	if _, err := p.Stdin.WriteString("a word\n"); err != nil {
		t.Fatal(err)
	}
	conn, err := p.Output.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for waiting := 0; waiting == 0; time.Sleep(time.Millisecond) {
		if conn.Control(func(fd uintptr) { waiting, err = unix.IoctlGetInt(int(fd), unix.TIOCINQ) }) != nil || err != nil {
			t.Fatal(err)
		}
	}
}

func TestAnAssignmentThatAnIdleProcessNeverReadGoesToAnother(t *testing.T) {
	t.Parallel()
	host, err := New(Options{Builtins: map[string]string{"test": "builtin:test@1"}, Env: []string{"RUNNER_TEST_CHILD=1"}, Warm: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	gone, err := host.start(program{line: []string{"/bin/true"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	<-gone.Exited()
	host.warm.fit = func(*child, int64) bool { return true } // the host learns of it too late
	gone.idled, host.warm.idle = true, []*child{gone}
	dir := t.TempDir()
	_, err = host.Run(t.Context(), module.Assignment{
		Version: module.ProtocolVersion, Module: module.Source{Path: "builtin:test"}, Call: module.CallTrain, TrainFiles: []string{dir + "/*"},
		ServingModelDir: dir + "/model", CustomConfig: map[string]any{"do": "succeed"},
	}, Limits{}, nil)
	if err != nil || !gone.Dead() {
		t.Errorf("error %v; the idle process was taken: %v", err, gone.Dead())
	}
}
