package main

import (
	"os"
	"testing"
)

func TestCPUTimeIsThatOfTheProcessAndItsChildren(t *testing.T) {
	t.Parallel()
	// As proc_pid_stat(5) numbers them: utime 150, stime 25, cutime 1000, cstime 225, behind a name
	// that tries to mislead.
	stat := "7 (a) R 1 2) S 1 7 7 0 -1 4194560 100 0 0 0 150 25 1000 225 20 0 9 0 100 1 1"
	got, err := cpuSecondsOf([]byte(stat))
	if err != nil || got != 14 {
		t.Errorf("%v, %v; expected 14", got, err)
	}
	for _, bad := range []string{"", "7 (a) S 1 7", "7 (a) S 1 7 7 0 -1 4194560 100 0 0 0 150 x 1000 225 20"} {
		if _, err := cpuSecondsOf([]byte(bad)); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestResidentSizeIsInBytes(t *testing.T) {
	t.Parallel()
	got, err := residentBytesOf("Name:\tstoker\nVmHWM:\t  600 kB\nVmRSS:\t  512 kB\nThreads:\t9\n")
	if err != nil || got != 512<<10 {
		t.Errorf("%d, %v; expected %d", got, err, 512<<10)
	}
	if _, err := residentBytesOf("Name:\tkthreadd\n"); err == nil {
		t.Error("a status without VmRSS was taken")
	}
}

func TestThisProcessCanBeRead(t *testing.T) {
	t.Parallel()
	if _, err := cpuTime(os.Getpid()); err != nil {
		t.Error(err)
	}
	if bytes, err := residentBytes(os.Getpid()); err != nil || bytes < 1<<20 {
		t.Errorf("%d bytes, %v", bytes, err)
	}
}
