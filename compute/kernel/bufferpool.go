package kernel

import (
	"sync"
	"unsafe"
)

// bufferPool keeps scratch memory between calls, so that a call allocates nothing once there were
// others like it. It holds as much as was ever in use at once.
type bufferPool struct {
	sync.Mutex
	free []*buffers
}

// sharedBuffers is the pool of callers without a Team.
var sharedBuffers bufferPool

func (t *Team) bufferPool() *bufferPool {
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

// buffers is scratch memory of one thread.
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
