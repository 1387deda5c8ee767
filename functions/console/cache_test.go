package console

import "testing"

func TestACacheKeepsTheAnswersUsedLast(t *testing.T) {
	t.Parallel()
	b := newCache[string, int](2)
	b.put("a", 1)
	b.put("b", 2)
	b.get("a")
	b.put("c", 3)
	b.put("c", 4)
	if _, there := b.get("b"); there {
		t.Error("b was used before a, and is kept")
	}
	if v, there := b.get("a"); v != 1 || !there {
		t.Errorf("a is %d, %t", v, there)
	}
	if v := b.entry("c", func() int { return 5 }); v != 4 {
		t.Errorf("c is %d, want 4", v)
	}
	if v := b.entry("d", func() int { return 6 }); v != 6 {
		t.Errorf("d is %d, want 6", v)
	}
	if _, there := b.get("a"); there || len(b.answers) != 2 {
		t.Errorf("a is kept, of %d", len(b.answers))
	}
}
