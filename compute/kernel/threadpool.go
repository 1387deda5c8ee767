package kernel

import (
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"
)

// ThreadPool computes with several threads, one computation at a time. Work is divided by output
// elements, so that the number of threads does not affect a result. The zero ThreadPool, and a nil
// one, is the caller alone. It is not safe for concurrent use. Close it after use.
//
// Waking a thread costs microseconds, so small work is done by the caller alone: each kernel knows
// its grain.
type ThreadPool struct {
	threads int

	wake  chan struct{} // wakes one thread
	done  chan struct{} // another thread than the caller did the last part
	ended sync.WaitGroup

	// The current task: written while no part is running, and read after a part was claimed.
	task    task
	n, size int

	claims atomic.Uint64 // the number of parts, times 2^32, and how many were claimed
	left   atomic.Int64  // parts that are not done
	panics atomic.Pointer[panicked]

	buffers bufferPool
}

type panicked struct{ value any }

// NewThreadPool returns a ThreadPool of that many threads, including the caller's; numbers below 1
// count as 1.
func NewThreadPool(threads int) *ThreadPool {
	t := &ThreadPool{threads: max(threads, 1)}
	if t.threads == 1 {
		return t
	}
	t.wake, t.done = make(chan struct{}, t.threads-1), make(chan struct{}, 1)
	for range t.threads - 1 {
		t.ended.Go(t.help)
	}
	return t
}

// Threads returns the number of threads, 1 for a nil ThreadPool.
func (t *ThreadPool) Threads() int {
	if t == nil || t.threads < 1 {
		return 1
	}
	return t.threads
}

// Close stops the threads and returns when they have ended. A closed ThreadPool computes with the
// caller's thread alone.
func (t *ThreadPool) Close() {
	if t.Threads() == 1 {
		return
	}
	t.threads = 1
	close(t.wake)
	t.ended.Wait()
}

// divide runs work on parts of 0..n, n > 0, and returns when all are done. The parts cover it; each
// has at least grain elements, except the last, and begins at a multiple of 16. If work panics,
// divide panics with the first value, once no part is running. The ThreadPool keeps work meanwhile,
// since passing it to threads in another way would allocate.
func (t *ThreadPool) divide(n, grain int, work task) { t.divideBy(n, t.sizeOf(n, grain), work) }

// sizeOf returns the length of a part. There are two parts for each thread, if n is long enough,
// since threads progress unequally; otherwise one, or some threads get none.
func (t *ThreadPool) sizeOf(n, grain int) int {
	parts := n / max(grain, 1)
	for _, most := range []int{2 * t.threads, t.threads} {
		if parts >= most {
			parts = most
			break
		}
	}
	parts = max(parts, 1)
	return ((n+parts-1)/parts + lanes - 1) / lanes * lanes
}

// divideBy runs work on parts of that size.
func (t *ThreadPool) divideBy(n, size int, work task) {
	parts := (n + size - 1) / size
	t.task, t.n, t.size = work, n, size
	t.left.Store(int64(parts))
	t.claims.Store(uint64(parts) << 32)
	t.call(parts - 1)
	if !t.runParts() {
		t.wait()
	}
	t.task = task{}
	if p := t.panics.Swap(nil); p != nil {
		panic(p.value)
	}
}

// call wakes this many threads, or all. A late one finds nothing to do, because the others have
// done its part.
func (t *ThreadPool) call(helpers int) {
	for range min(helpers, t.threads-1) {
		select {
		case t.wake <- struct{}{}:
		default: // all of them have been woken
			return
		}
	}
}

func (t *ThreadPool) help() {
	for range t.wake {
		if t.runParts() {
			t.done <- struct{}{}
		}
	}
}

// runParts runs parts while there are any, and reports whether it finished the last one. A single
// word holds the number of parts and the next one, so that a thread that is late from one task
// can't mistake it for another.
func (t *ThreadPool) runParts() (last bool) {
	for {
		claim := t.claims.Add(1) - 1
		part, parts := int(uint32(claim)), int(claim>>32)
		if part >= parts {
			return last
		}
		t.part(part)
		last = t.left.Add(-1) == 0
	}
}

func (t *ThreadPool) part(i int) {
	defer func() {
		if value := recover(); value != nil {
			t.panics.CompareAndSwap(nil, &panicked{value})
		}
	}()
	t.task.do(&t.task, i*t.size, min((i+1)*t.size, t.n))
}

// patience is how often the caller polls whether the others are done before it sleeps: some
// microseconds.
const patience = 300

func (t *ThreadPool) wait() {
	for range patience {
		select {
		case <-t.done:
			return
		default:
		}
	}
	<-t.done
}

// task is a kernel's work, shared by the threads of a ThreadPool: a function, since a closure would
// be allocated, and its arguments.
type task struct {
	do  func(t *task, from, to int)
	isa ISA

	y, x, z    []float32
	ids        []int
	rows, cols int
	places     int
	f          Func
	binary     Binary
	rowwise    rowwise
	shape      Shape
	swapped    bool
	add        bool
	step       step
	mask       mask
	gemm       gemm
}

// How many elements are worth a thread: of work limited by memory, and of work with arithmetic on
// each.
const (
	grainFast = 32768
	grainSlow = 4096
)

// alone reports whether n elements are too few for a second thread.
func (t *ThreadPool) alone(n, grain int) bool { return n < 2*grain || t.Threads() == 1 }

// rowsOf returns how many rows with cols columns have that many elements.
func rowsOf(elements, cols int) int { return max(1, elements/max(cols, 1)) }

// first returns the first n elements of x; it panics if x is shorter, whatever its capacity.
func first[T any](what string, x []T, n int) []T {
	if len(x) < n {
		tooShort(what, len(x), n)
	}
	return x[:n]
}

func tooShort(what string, have, want int) {
	panic(fmt.Sprintf("kernel: %s has %d elements, %d are needed", what, have, want))
}

// bufferPool keeps scratch memory between calls, so that a call allocates nothing after similar
// ones. It keeps as much as was ever in use at once.
type bufferPool struct {
	sync.Mutex
	free []*buffers
}

// sharedBuffers is the pool of callers without a ThreadPool.
var sharedBuffers bufferPool

func (t *ThreadPool) bufferPool() *bufferPool {
	if t == nil {
		return &sharedBuffers
	}
	return &t.buffers
}

func (p *bufferPool) get() *buffers {
	p.Lock()
	defer p.Unlock()
	n := len(p.free)
	if n == 0 {
		return new(buffers)
	}
	last := p.free[n-1]
	p.free = p.free[:n-1]
	return last
}

func (p *bufferPool) put(x *buffers) {
	p.Lock()
	defer p.Unlock()
	p.free = append(p.free, x)
}

// buffers is the scratch memory of one thread.
type buffers struct{ a, b []float32 }

// line is the length of a cache line in elements.
const line = 16

// grown returns x if it has at least n elements, else new memory of n elements that begins at a
// cache line.
func grown(x []float32, n int) []float32 {
	if len(x) >= n {
		return x
	}
	x = make([]float32, n+line)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(x))) / 4 % line
	return x[skip : int(skip)+n]
}
