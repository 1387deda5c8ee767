package kernel

import (
	"sync"
	"unsafe"
)

// shelf keeps memory for copies of operands between products, so that a product allocates nothing once there were others like it. It
// holds as much as was ever used at once.
type shelf struct {
	sync.Mutex
	free []*space
}

// shared is the shelf of all who have no Team.
var shared shelf

func (t *Team) shelfOf() *shelf {
	if t == nil {
		return &shared
	}
	return &t.shelf
}

func (s *shelf) take() *space {
	s.Lock()
	defer s.Unlock()
	n := len(s.free)
	if n == 0 {
		return new(space)
	}
	last := s.free[n-1]
	s.free = s.free[:n-1]
	return last
}

func (s *shelf) back(x *space) {
	s.Lock()
	defer s.Unlock()
	s.free = append(s.free, x)
}

// space is memory for one thread's copies.
type space struct{ a, b []float32 }

// line is a line of a processor's cache, in elements.
const line = 16

// grown is x, or what is longer where it has less than n elements; it begins with a line.
func grown(x []float32, n int) []float32 {
	if len(x) >= n {
		return x
	}
	x = make([]float32, n+line)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(x))) / 4 % line
	return x[skip : int(skip)+n]
}
