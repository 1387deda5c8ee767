package process

import (
	"io"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/stoker-ml/stoker/functions/runner/process/processtest"
)

func TestServer(t *testing.T) { processtest.Serve(t) }

func TestAForkedProcessReportsHowItEnded(t *testing.T) {
	t.Parallel()
	server := startedForkServer(t, nil)
	for name, test := range map[string]struct {
		end  func(p *Process)
		want syscall.WaitStatus
	}{
		"by itself":   {func(p *Process) { _ = p.Stdin.Close() }, 0},
		"by a signal": {func(p *Process) { p.Signal(syscall.SIGUSR1) }, syscall.WaitStatus(syscall.SIGUSR1)},
	} {
		p := forkOf(t, server)
		test.end(p)
		<-p.Exited()
		if how := p.Reap(); how.Status != test.want || how.Unknown || how.MaxRSSBytes <= 0 {
			t.Errorf("%s: %+v", name, how)
		}
		p.Release()
	}
}

// The kernel ends the children of a server that is killed, and their ids may then be reused.
func TestChildrenOfAKilledServerEndWithIt(t *testing.T) {
	t.Parallel()
	server := startedForkServer(t, nil)
	p := forkOf(t, server)
	server.Signal(syscall.SIGKILL)
	<-p.Exited()
	<-server.Exited()
	if p.leader.held() {
		t.Error("its number is taken for its own")
	}
	how := p.Reap()
	p.Release()
	if !how.Unknown || how.Status.Signal() != syscall.SIGKILL {
		t.Errorf("it ended with %+v", how)
	}
}

// The real kernel, version 2: a child begins in its parent's cgroup, and works in one of its own.
func TestAForkedProcessIsMovedToItsCgroupOfVersion2(t *testing.T) {
	t.Parallel()
	server := startedForkServer(t, &cgroups{dir: unifiedCgroup(t), v2: true, mkdir: makeCgroup, rmdir: os.Remove})
	p := forkOf(t, server)
	if in, around := p.Cgroup.processes(), server.Cgroup.processes(); !slices.Equal(in, []int{p.PID()}) || slices.Contains(around, p.PID()) {
		t.Errorf("process %d: in its cgroup are %v, in the server's %v", p.PID(), in, around)
	}
	p.End()
	if server.Dead() {
		t.Error("the server ended with it")
	}
}

// startedForkServer starts a server that can fork.
func startedForkServer(t *testing.T, groups *cgroups) *ForkServer {
	t.Helper()
	line, env := processtest.Command(t, processtest.Serves)
	server, err := supervisorWith(t, groups).StartForkServer(line, env, nil)
	if err != nil {
		t.Fatal(err)
	}
	var waiting sync.WaitGroup
	waiting.Go(func() { server.Wait(io.Discard) })
	t.Cleanup(func() { server.End(); waiting.Wait() })
	<-server.Ready()
	if err := server.Failed(); err != nil {
		t.Fatal(err)
	}
	return server
}

func forkOf(t *testing.T, server *ForkServer) *Process {
	t.Helper()
	p, err := server.Fork(func() {})
	if err != nil {
		t.Fatal(err)
	}
	return p
}
