package process

import (
	"syscall"
	"testing"
	"time"
)

func TestMemoryIsCountedForTheGroupAlone(t *testing.T) {
	t.Parallel()
	const stat = "7 (a) b) R) S 1 42 42 0 -1 4194560 100 0 0 0 1 1 0 0 20 0 1 0 100 1000000 256 18446744073709551615"
	page := int64(syscall.Getpagesize())
	for group, want := range map[int]int64{42: 256 * page, 1: 0, 7: 0} {
		if got := rssIfIn(group, []byte(stat)); got != want {
			t.Errorf("group %d: %d bytes, want %d", group, got, want)
		}
	}
	if got := rssIfIn(42, nil); got != 0 {
		t.Errorf("no text: %d bytes", got)
	}
}

func TestTheCPUTimeOfAGroupIsThatOfItsProcesses(t *testing.T) {
	t.Parallel()
	const stat = "7 (a ) b) S 1 42 42 0 -1 0 0 0 0 0 100 20 3 4 20 0 1 0 5 1000 250"
	for group, want := range map[int]time.Duration{42: 1270 * time.Millisecond, 43: 0} {
		if got := cpuIfIn(group, []byte(stat)); got != want {
			t.Errorf("group %d: %s, want %s", group, got, want)
		}
	}
}
