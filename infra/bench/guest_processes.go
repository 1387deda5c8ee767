package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func cpuTimes(pids ...int) (total float64, err error) {
	for _, pid := range pids {
		seconds, err := cpuTime(pid)
		if err != nil {
			return 0, err
		}
		total += seconds
	}
	return total, nil
}

// memoryUse of a process: its share of what it uses with others, and what is its own alone.
type memoryUse struct{ pss, private float64 }

func (m memoryUse) figures(name string) []figure {
	return []figure{
		alone(name+"-pss", megabytes, m.pss, samples{m.pss}, ""), alone(name+"-private", megabytes, m.private, samples{m.private}, ""),
	}
}

// memoryOf reads proc_pid_smaps_rollup(5).
func memoryOf(pid int) (m memoryUse, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return m, err
	}
	return memoryUse{pss: megabytesOf(string(text), "Pss:"), private: megabytesOf(string(text), "Private_Clean:", "Private_Dirty:")}, nil
}

// megabytesOf adds up lines like `Pss:  1024 kB`, in which kB means KiB, in megabytes.
func megabytesOf(text string, names ...string) (sum float64) {
	for _, name := range names {
		kibibytes, err := strconv.ParseFloat(strings.TrimSuffix(lineAfter(text, name), " kB"), 64)
		if err == nil {
			sum += kibibytes * 1024 / 1e6
		}
	}
	return sum
}

// waitingProcess finds this process's child in the driver's mode idle, once it has imported
// everything: it has used no CPU for a while.
func waitingProcess(ctx context.Context) (int, error) {
	const quiet = 500 * time.Millisecond
	before := -1.0
	for {
		pid, err := idleChild()
		if err != nil {
			return 0, err
		}
		if pid != 0 {
			now, err := cpuTime(pid)
			if err != nil {
				return 0, err
			}
			if now == before && now > 1 {
				return pid, nil
			}
			before = now
		}
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-time.After(quiet):
		}
	}
}

// idleChild is 0 where there is none yet.
func idleChild() (int, error) {
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	for _, folder := range folders {
		command, _ := os.ReadFile(folder + "/cmdline") // none where it is gone
		if !strings.HasSuffix(string(command), "\x00idle\x00") {
			continue
		}
		status, _ := os.ReadFile(folder + "/status")
		if lineAfter(string(status), "PPid:") == strconv.Itoa(os.Getpid()) {
			return strconv.Atoi(filepath.Base(folder))
		}
	}
	return 0, nil
}
