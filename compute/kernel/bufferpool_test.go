package kernel

import (
	"testing"
	"unsafe"
)

func TestABufferPoolGivesBuffersToOneCallerAtATime(t *testing.T) {
	t.Parallel()
	var s bufferPool
	one, two := s.get(), s.get()
	if one == two {
		t.Fatal("two callers have the same buffers")
	}
	s.put(one)
	if s.get() != one {
		t.Error("returned buffers are not used again")
	}
	if s.get() == one {
		t.Error("buffers in use were given again")
	}
}

func TestASpaceBeginsWithALineOfTheCache(t *testing.T) {
	t.Parallel()
	for n := 1; n < 5000; n = 2*n + 1 {
		x := grown(nil, n)
		if len(x) != n || uintptr(unsafe.Pointer(&x[0]))%(4*line) != 0 {
			t.Errorf("%d of %d elements at %p", len(x), n, &x[0])
		}
		if y := grown(x, n-1); len(y) != n {
			t.Errorf("%d elements were not enough for %d", len(y), n-1)
		}
	}
}
