package cache

import "testing"

func TestACacheKeepsTheAnswersUsedLast(t *testing.T) {
	t.Parallel()
	b := New[string, int](2)
	b.Put("a", 1)
	b.Put("b", 2)
	b.Get("a")
	b.Put("c", 3)
	b.Put("c", 4)
	if _, there := b.Get("b"); there {
		t.Error("b was used before a, and is kept")
	}
	if v, there := b.Get("a"); v != 1 || !there {
		t.Errorf("a is %d, %t", v, there)
	}
	if v := b.Entry("c", func() int { return 5 }); v != 4 {
		t.Errorf("c is %d, want 4", v)
	}
	if v := b.Entry("d", func() int { return 6 }); v != 6 {
		t.Errorf("d is %d, want 6", v)
	}
	if _, there := b.Get("a"); there || len(b.answers) != 2 {
		t.Errorf("a is kept, of %d", len(b.answers))
	}
}
