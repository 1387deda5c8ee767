package kernel

import (
	"testing"
	"unsafe"
)

func TestAShelfGivesASpaceToOneAtATime(t *testing.T) {
	t.Parallel()
	var s shelf
	one, two := s.take(), s.take()
	if one == two {
		t.Fatal("two have the same space")
	}
	s.back(one)
	if s.take() != one {
		t.Error("a space that came back is not used again")
	}
	if s.take() == one {
		t.Error("a space that is used was given again")
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
