package runner

import (
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/functions/runner/process"
	"github.com/stoker-ml/stoker/functions/runner/process/processtest"
	"github.com/stoker-ml/stoker/functions/runner/python"
)

func TestServer(t *testing.T) { processtest.Serve(t) }

func TestJobsAtOnceWaitForTheImportsOfOne(t *testing.T) {
	t.Parallel()
	pool, started := fakePool(t, processtest.Serves, usualWarmRules())
	processes := make([]*child, 5)
	var jobs sync.WaitGroup
	for i := range processes {
		jobs.Go(func() { processes[i] = fork(t, pool) })
	}
	jobs.Wait()
	pids := map[int]bool{}
	for _, p := range processes {
		pids[p.PID()] = true
		p.End()
	}
	if len(pids) != 5 || started.Load() != 1 {
		t.Errorf("%d processes of %d servers", len(pids), started.Load())
	}
}

func TestAServerThatNobodyUsesIsEnded(t *testing.T) {
	t.Parallel()
	rules := usualWarmRules()
	rules.idle = 50 * time.Millisecond
	pool, started := fakePool(t, processtest.Serves, rules)
	p := fork(t, pool)
	server := theServer(t, pool)
	time.Sleep(4 * rules.idle)
	if server.Dead() {
		t.Fatal("a server with a child at work was ended")
	}
	p.End()
	<-server.Exited()
	fork(t, pool).End()
	if n := started.Load(); n != 2 {
		t.Errorf("%d servers", n)
	}
}

func TestAServerThatHasForkedEnoughIsReplacedAndLivesUntilItsChildrenEnd(t *testing.T) {
	t.Parallel()
	rules := usualWarmRules()
	rules.most = 2
	pool, started := fakePool(t, processtest.Serves, rules)
	first, second := fork(t, pool), fork(t, pool)
	old := theServer(t, pool)
	third := fork(t, pool)
	defer third.End()
	if started.Load() != 2 || theServer(t, pool) == old || old.Dead() {
		t.Errorf("%d servers; the old one is dead: %v", started.Load(), old.Dead())
	}
	first.End()
	if old.Dead() {
		t.Error("it was ended before its last child")
	}
	second.End()
	<-old.Exited()
}

func TestAServerThatCanForkNoMoreIsReplaced(t *testing.T) {
	t.Parallel()
	pool, started := fakePool(t, processtest.ServesOnce, usualWarmRules())
	defer fork(t, pool).End()
	if p, err := pool.take(t.Context(), pythonKind{}); err == nil || !strings.Contains(err.Error(), "the weather") {
		t.Errorf("process %v, error %v", p, err)
	}
	fork(t, pool).End()
	if n := started.Load(); n != 2 {
		t.Errorf("%d servers", n)
	}
}

// Each job would import twice, once in vain.
func TestAServerThatWasNeverOfUseIsNotReplacedByEveryJob(t *testing.T) {
	t.Parallel()
	for do, says := range map[string]string{processtest.Fails: "no module named tensorflow", processtest.Refuses: "the weather"} {
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
	pool, started := fakePool(t, processtest.Dawdles, rules)
	for range 2 {
		if _, err := pool.take(t.Context(), pythonKind{}); !errors.Is(err, errNotReady) {
			t.Error(err)
		}
	}
	if n := started.Load(); n != 1 || theServer(t, pool).Dead() {
		t.Errorf("%d servers, which import no more", n)
	}
}

func TestTheJobAfterAKilledServerHasAnother(t *testing.T) {
	t.Parallel()
	pool, started := fakePool(t, processtest.Serves, usualWarmRules())
	p := fork(t, pool)
	theServer(t, pool).Signal(syscall.SIGKILL)
	<-p.Exited()
	<-theServer(t, pool).Exited()
	p.End()
	fork(t, pool).End()
	if n := started.Load(); n != 2 {
		t.Errorf("%d servers", n)
	}
}

func TestClosingEndsForkServers(t *testing.T) {
	t.Parallel()
	pool, _ := fakePool(t, processtest.Serves, usualWarmRules())
	fork(t, pool).End()
	server := theServer(t, pool)
	pool.close()
	if !server.Dead() {
		t.Error("the server goes on")
	}
	if _, err := pool.take(t.Context(), pythonKind{}); err == nil {
		t.Error("a closed pool forks")
	}
}

func TestKindsHaveServersOfTheirOwn(t *testing.T) {
	t.Parallel()
	pool, started := fakePool(t, processtest.Serves, usualWarmRules())
	for _, kind := range []pythonKind{
		{}, {env: []string{"TF_USE_LEGACY_KERAS=1"}}, {environment: python.Environment{Digest: "sha256:01"}}, {},
	} {
		p, err := pool.take(t.Context(), kind)
		if err != nil {
			t.Fatal(err)
		}
		p.End()
	}
	if n := started.Load(); n != 3 {
		t.Errorf("%d servers for 3 kinds", n)
	}
}

// fakePool has servers of this test binary, and tells how many were started.
func fakePool(t *testing.T, do string, rules warmRules) (*forkPool, *atomic.Int64) {
	t.Helper()
	var started atomic.Int64
	place := supervisorForTest(t)
	pool := &forkPool{
		start: func(pythonKind) (*process.ForkServer, error) {
			started.Add(1)
			line, env := processtest.Command(t, do)
			return place.StartForkServer(line, env, nil)
		},
		rules: rules, log: slog.New(slog.DiscardHandler), vain: map[string]vain{}, all: map[*served]bool{},
	}
	t.Cleanup(pool.close)
	return pool, &started
}

func fork(t *testing.T, pool *forkPool) *child {
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
	for s := range pool.all {
		if !s.retired {
			return s
		}
	}
	t.Fatal("no server")
	return nil
}
