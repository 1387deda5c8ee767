package guest

import (
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/functions/guest/python"
)

func TestJobsAtOnceWaitForTheImportsOfOne(t *testing.T) {
	t.Parallel()
	pool, started := fakePool(t, serves, usualWarmRules())
	processes := make([]*process, 5)
	var jobs sync.WaitGroup
	for i := range processes {
		jobs.Go(func() { processes[i] = fork(t, pool) })
	}
	jobs.Wait()
	pids := map[int]bool{}
	for _, p := range processes {
		pids[p.pid()] = true
		p.end()
	}
	if len(pids) != 5 || started.Load() != 1 {
		t.Errorf("%d processes of %d servers", len(pids), started.Load())
	}
}

func TestAForkedProcessTellsHowItEnded(t *testing.T) {
	t.Parallel()
	pool, _ := fakePool(t, serves, usualWarmRules())
	for name, test := range map[string]struct {
		end  func(p *process)
		want syscall.WaitStatus
	}{
		"by itself":   {func(p *process) { _ = p.stdin.Close() }, 0},
		"by a signal": {func(p *process) { p.signal(syscall.SIGUSR1) }, syscall.WaitStatus(syscall.SIGUSR1)},
	} {
		p := fork(t, pool)
		test.end(p)
		<-p.exited
		if how := p.reap(); how.status != test.want || how.unknown || how.maxRSSBytes <= 0 {
			t.Errorf("%s: %+v", name, how)
		}
		p.release()
	}
}

func TestAServerThatNobodyUsesIsEnded(t *testing.T) {
	t.Parallel()
	rules := usualWarmRules()
	rules.idle = 50 * time.Millisecond
	pool, started := fakePool(t, serves, rules)
	p := fork(t, pool)
	server := theServer(t, pool)
	time.Sleep(4 * rules.idle)
	if server.process.dead() {
		t.Fatal("a server with a child at work was ended")
	}
	p.end()
	<-server.process.exited
	fork(t, pool).end()
	if n := started.Load(); n != 2 {
		t.Errorf("%d servers", n)
	}
}

func TestAServerThatHasForkedEnoughIsReplacedAndLivesUntilItsChildrenEnd(t *testing.T) {
	t.Parallel()
	rules := usualWarmRules()
	rules.most = 2
	pool, started := fakePool(t, serves, rules)
	first, second := fork(t, pool), fork(t, pool)
	old := theServer(t, pool)
	third := fork(t, pool)
	defer third.end()
	if started.Load() != 2 || theServer(t, pool) == old || old.process.dead() {
		t.Errorf("%d servers; the old one is dead: %v", started.Load(), old.process.dead())
	}
	first.end()
	if old.process.dead() {
		t.Error("it was ended before its last child")
	}
	second.end()
	<-old.process.exited
}

func TestAServerThatCanForkNoMoreIsReplaced(t *testing.T) {
	t.Parallel()
	pool, started := fakePool(t, servesOnce, usualWarmRules())
	defer fork(t, pool).end()
	if p, err := pool.take(t.Context(), pythonKind{}); err == nil || !strings.Contains(err.Error(), "the weather") {
		t.Errorf("process %v, error %v", p, err)
	}
	fork(t, pool).end()
	if n := started.Load(); n != 2 {
		t.Errorf("%d servers", n)
	}
}

// Each job would import twice, once in vain.
func TestAServerThatWasNeverOfUseIsNotReplacedByEveryJob(t *testing.T) {
	t.Parallel()
	for do, says := range map[string]string{fails: "no module named tensorflow", refuses: "the weather"} {
		pool, started := fakePool(t, do, usualWarmRules())
		for range 3 {
			if _, err := pool.take(t.Context(), pythonKind{}); err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v", do, err)
			}
		}
		if n := started.Load(); n != 1 {
			t.Errorf("%s: %d servers", do, n)
		}
		pool.rules.retry = 0
		_, _ = pool.take(t.Context(), pythonKind{})
		if n := started.Load(); n != 2 {
			t.Errorf("%s: %d servers when it was time to try again", do, n)
		}
	}
}

func TestAJobWaitsForImportsNoLongerThanItMay(t *testing.T) {
	t.Parallel()
	rules := usualWarmRules()
	rules.patience = 50 * time.Millisecond
	pool, started := fakePool(t, dawdles, rules)
	for range 2 {
		if _, err := pool.take(t.Context(), pythonKind{}); !errors.Is(err, errNotReady) {
			t.Error(err)
		}
	}
	if n := started.Load(); n != 1 || theServer(t, pool).process.dead() {
		t.Errorf("%d servers, which import no more", n)
	}
}

// The kernel ends the children of a server that is killed, and their numbers are anyone's then.
func TestChildrenOfAKilledServerEndAndTheNextJobHasAnother(t *testing.T) {
	t.Parallel()
	pool, started := fakePool(t, serves, usualWarmRules())
	p := fork(t, pool)
	theServer(t, pool).process.signal(syscall.SIGKILL)
	<-p.exited
	<-theServer(t, pool).process.exited
	if p.leader.held() {
		t.Error("its number is taken for its own")
	}
	how := p.reap()
	p.release()
	if !how.unknown || how.status.Signal() != syscall.SIGKILL {
		t.Errorf("it ended with %+v", how)
	}
	fork(t, pool).end()
	if n := started.Load(); n != 2 {
		t.Errorf("%d servers", n)
	}
}

func TestClosingEndsForkServers(t *testing.T) {
	t.Parallel()
	pool, _ := fakePool(t, serves, usualWarmRules())
	fork(t, pool).end()
	server := theServer(t, pool)
	pool.close()
	if !server.process.dead() {
		t.Error("the server goes on")
	}
	if _, err := pool.take(t.Context(), pythonKind{}); err == nil {
		t.Error("a closed pool forks")
	}
}

func TestKindsHaveServersOfTheirOwn(t *testing.T) {
	t.Parallel()
	pool, started := fakePool(t, serves, usualWarmRules())
	for _, kind := range []pythonKind{
		{}, {env: []string{"TF_USE_LEGACY_KERAS=1"}}, {environment: python.Environment{Digest: "sha256:01"}}, {},
	} {
		p, err := pool.take(t.Context(), kind)
		if err != nil {
			t.Fatal(err)
		}
		p.end()
	}
	if n := started.Load(); n != 3 {
		t.Errorf("%d servers for 3 kinds", n)
	}
}

// fakePool has servers of this test binary, and tells how many were started.
func fakePool(t *testing.T, do string, rules warmRules) (*forkPool, *atomic.Int64) {
	t.Helper()
	var started atomic.Int64
	dir := t.TempDir()
	pool := &forkPool{
		start: func(pythonKind) (*forkServer, error) {
			started.Add(1)
			line, env := fakeServer(t, do)
			return startForkServer(dir, nil, line, env)
		},
		fork:  func(s *forkServer, reaped func()) (*process, error) { return s.fork(dir, nil, reaped) },
		rules: rules, log: slog.New(slog.DiscardHandler), servers: map[string]*served{}, vain: map[string]vain{}, all: map[*served]bool{},
	}
	t.Cleanup(pool.close)
	return pool, &started
}

func fork(t *testing.T, pool *forkPool) *process {
	t.Helper()
	p, err := pool.take(t.Context(), pythonKind{})
	if err != nil {
		t.Error(err)
	}
	return p
}

// theServer is the one that forks now.
func theServer(t *testing.T, pool *forkPool) *served {
	t.Helper()
	pool.mu.Lock()
	defer pool.mu.Unlock()
	for _, s := range pool.servers {
		return s
	}
	t.Fatal("no server")
	return nil
}
