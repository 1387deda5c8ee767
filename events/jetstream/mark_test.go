package jetstream

import (
	"testing"
	"time"
)

// hadNews reports whether there was news, and clears it.
func (m *mark) hadNews() bool {
	select {
	case <-m.news:
		return true
	default:
		return false
	}
}

func TestAMarkDistinguishesOurOwnWritesFromThoseOfOthers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		does func(m *mark)
		want bool
	}{
		"nothing":                             {func(*mark) {}, false},
		"our first write is seen":             {func(m *mark) { m.see(7) }, false},
		"another's is seen":                   {func(m *mark) { m.see(8) }, true},
		"an old one comes late":               {func(m *mark) { m.see(3) }, false},
		"ours is seen after its answer":       {func(m *mark) { m.writing(); m.wrote(9); m.see(9) }, false},
		"ours is seen before its answer":      {func(m *mark) { m.writing(); m.see(9); m.wrote(9) }, false},
		"another's while we write, who lose":  {func(m *mark) { m.writing(); m.see(8); m.wrote(0) }, true},
		"another's after ours, before answer": {func(m *mark) { m.writing(); m.see(9); m.see(10); m.wrote(9) }, true},
		"ours, whose answer was lost":         {func(m *mark) { m.writing(); m.wrote(0); m.see(9) }, true},
		"ours was read after a lost answer":   {func(m *mark) { m.writing(); m.wrote(0); m.wrote(9); m.see(9) }, false},
		"another's, twice, is news each time": {func(m *mark) { m.see(8); m.see(9); <-m.news }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMark(7)
			c.does(m)
			if got := m.hadNews(); got != c.want {
				t.Errorf("news: %t, want %t", got, c.want)
			}
		})
	}
}

// The watcher may be faster than the answer to our own first write.
func TestAMarkHearsOfWhatWasSeenBeforeItWasMade(t *testing.T) {
	t.Parallel()
	s := testLeaseAges()
	s.age("job-1", 8)
	if m := s.watch("job-1", 7); !m.hadNews() {
		t.Error("what was seen before it was ours is no news")
	}
	m := s.watch("job-1", 8)
	if m.hadNews() {
		t.Error("our own write is news")
	}
	s.unwatch("job-1", newMark(8)) // of an earlier attempt: not ours to remove
	s.see("job-1", 9)
	if !m.hadNews() {
		t.Error("another's write is no news")
	}
	s.unwatch("job-1", m)
	s.see("job-1", 10)
	if m.hadNews() || len(s.ours) != 0 {
		t.Error("it is watched after its end")
	}
}

func testLeaseAges() *leaseAges {
	return &leaseAges{now: time.Now, seen: map[string]leaseAge{}, ours: map[string]*mark{}}
}
