package runner

import (
	"errors"
	"log/slog"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stoker-ml/stoker/functions/runner/process"
)

func TestNoIdleProcessBeforeTheFirstJob(t *testing.T) {
	t.Parallel()
	pool, started := catPool(t, 2)
	if n := started.Load(); n != 0 {
		t.Errorf("%d processes started by a pool that nobody asked", n)
	}
	first := take(t, pool)
	defer first.End()
	pool.refills.Wait()
	if n := started.Load(); n != 2 || len(pool.idle) != 1 {
		t.Errorf("%d processes started, %d idle, want 2 and 1", n, len(pool.idle))
	}
}

func TestAProcessThatIsPutBackIsTakenAgain(t *testing.T) {
	t.Parallel()
	pool, started := catPool(t, 1)
	first := take(t, pool)
	for range 3 {
		pool.putBack(first)
		if p := take(t, pool); p != first {
			p.End()
			t.Error("another process was taken")
		}
	}
	defer first.End()
	pool.refills.Wait()
	if n := started.Load(); n != 1 {
		t.Errorf("%d processes started", n)
	}
}

func TestAProcessIsTakenByOneAtATime(t *testing.T) {
	t.Parallel()
	pool, _ := catPool(t, 1)
	first, second := take(t, pool), take(t, pool)
	if first == second {
		t.Fatal("one process was taken twice at once")
	}
	pool.putBack(first)
	pool.putBack(second) // one too many
	if len(pool.idle) != 1 || pool.idle[0] != first || !second.Dead() {
		t.Errorf("%d idle; the one too many is dead: %v", len(pool.idle), second.Dead())
	}
}

func TestALostProcessIsReplaced(t *testing.T) {
	t.Parallel()
	pool, started := catPool(t, 1)
	take(t, pool).End()
	pool.lost()
	pool.refills.Wait()
	if n := started.Load(); n != 2 || len(pool.idle) != 1 {
		t.Errorf("%d processes started, %d idle, want 2 and 1", n, len(pool.idle))
	}
}

func TestClosingEndsIdleProcesses(t *testing.T) {
	t.Parallel()
	pool, started := catPool(t, 3)
	atWork := take(t, pool)
	pool.refills.Wait()
	idle := pool.idle
	pool.close()
	pool.putBack(atWork)
	for _, p := range append(idle, atWork) {
		if err := syscall.Kill(p.PID(), 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d goes on: %v", p.PID(), err)
		}
	}
	before := started.Load()
	defer take(t, pool).End()
	pool.refills.Wait()
	if n := started.Load(); n != before+1 {
		t.Errorf("a closed pool started %d idle processes", n-before-1)
	}
}

// catPool has processes that wait on their standard input.
func catPool(t *testing.T, size int) (*warmPool, *atomic.Int64) {
	t.Helper()
	var started atomic.Int64
	place := supervisorForTest(t)
	pool := newWarmPool(size, func() (*child, error) {
		started.Add(1)
		p, err := place.Start(process.Command{Line: []string{"/bin/cat"}})
		return &child{Process: p}, err
	}, slog.New(slog.DiscardHandler))
	t.Cleanup(pool.close)
	return pool, &started
}

func take(t *testing.T, pool *warmPool) *child {
	t.Helper()
	p, err := pool.take(0)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func supervisorForTest(t *testing.T) *process.Supervisor {
	t.Helper()
	place, err := process.Open("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := place.Close(); err != nil {
			t.Error(err)
		}
	})
	return place
}
