package kernel

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestPartsAreEachElementOnce(t *testing.T) {
	t.Parallel()
	for _, threads := range []int{0, 1, 2, 3, 7} {
		pool := NewThreadPool(threads)
		for _, n := range []int{0, 1, 15, 16, 17, 100, 1000, 4096} {
			for _, grain := range []int{0, 1, 16, 100, 5000} {
				checkParts(t, pool, n, grain)
			}
		}
		pool.Close()
		checkParts(t, pool, 1000, 1)
	}
	checkParts(t, nil, 1000, 1)
	checkParts(t, &ThreadPool{}, 1000, 1)
}

// inParts divides work as a kernel does.
func inParts(pool *ThreadPool, n, grain int, do func(from, to int)) {
	switch {
	case n == 0:
		return
	case pool.alone(n, grain):
		do(0, n)
		return
	}
	pool.divide(n, grain, task{do: func(_ *task, from, to int) { do(from, to) }})
}

func checkParts(t *testing.T, pool *ThreadPool, n, grain int) {
	t.Helper()
	times := make([]atomic.Int32, n)
	inParts(pool, n, grain, func(from, to int) {
		if from%16 != 0 || from >= to || to-from < grain && to != n {
			t.Errorf("%d threads, %d by %d: a part %d..%d", pool.Threads(), n, grain, from, to)
		}
		for i := from; i < to; i++ {
			times[i].Add(1)
		}
	})
	for i := range times {
		if times[i].Load() != 1 {
			t.Fatalf("%d threads, %d by %d: %d was done %d times", pool.Threads(), n, grain, i, times[i].Load())
		}
	}
}

// All threads of a ThreadPool run concurrently: each part waits here until as many have begun.
func TestAThreadPoolUsesAllThreads(t *testing.T) {
	t.Parallel()
	const threads = 3
	pool := NewThreadPool(threads)
	defer pool.Close()
	for range 100 {
		var begun sync.WaitGroup
		begun.Add(threads)
		inParts(pool, 16*threads, 16, func(int, int) {
			begun.Done()
			begun.Wait()
		})
	}
}

func TestAPanicComesOutWhenAllPartsAreDone(t *testing.T) {
	t.Parallel()
	pool := NewThreadPool(4)
	defer pool.Close()
	fault := errors.New("fault")
	for bad := range 8 {
		var done atomic.Int32
		value := func() (value any) {
			defer func() { value = recover() }()
			inParts(pool, 8*16, 16, func(from, to int) {
				if from == bad*16 {
					panic(fault)
				}
				time.Sleep(time.Millisecond)
				done.Add(1)
			})
			return nil
		}()
		if value != fault || done.Load() != 7 {
			t.Fatalf("part %d: panicked with %v, and %d parts were done", bad, value, done.Load())
		}
		checkParts(t, pool, 1000, 1)
	}
}

// Not parallel: it counts goroutines.
func TestAThreadPoolOfOneStartsNoGoroutineAndCloseEndsThem(t *testing.T) {
	before := runtime.NumGoroutine()
	one := NewThreadPool(1)
	if n := runtime.NumGoroutine(); n > before {
		t.Errorf("a ThreadPool of 1 started %d", n-before)
	}
	one.Close()
	pool := NewThreadPool(5)
	if n := runtime.NumGoroutine(); n != before+4 {
		t.Errorf("a ThreadPool of 5 started %d", n-before)
	}
	checkParts(t, pool, 1000, 1)
	pool.Close()
	pool.Close()
	for range 1000 { // one that has reported that it is done may not have ended yet
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%d goroutines were left", runtime.NumGoroutine()-before)
}
