package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// ticksPerSecond is USER_HZ, which is 100 on every Linux that Go runs on (proc(5), times(7)).
const ticksPerSecond = 100

// cpuTime is the CPU time that a process has spent, with that of its children that ended and were
// waited for, in seconds. It moves in steps of 10 ms.
func cpuTime(pid int) (float64, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("read CPU time: %w", err)
	}
	seconds, err := cpuSecondsOf(stat)
	if err != nil {
		return 0, fmt.Errorf("read CPU time of process %d: %w", pid, err)
	}
	return seconds, nil
}

// cpuSecondsOf reads proc_pid_stat(5): pid (name) state ..., with utime, stime, cutime, cstime as
// fields 14 to 17. The name may hold anything, so fields are counted from its closing bracket:
// utime is the twelfth after it.
func cpuSecondsOf(stat []byte) (float64, error) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 15 {
		return 0, fmt.Errorf("%d fields behind the name, expected at least 15", len(fields))
	}
	var ticks int64
	for _, field := range fields[11:15] {
		n, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return float64(ticks) / ticksPerSecond, nil
}

// residentBytes is the resident size of one process, without its children.
func residentBytes(pid int) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("read resident size: %w", err)
	}
	return residentBytesOf(string(status))
}

// residentBytesOf finds the line VmRSS of proc_pid_status(5), which is in kB, and means KiB.
func residentBytesOf(status string) (int64, error) {
	text := strings.TrimSuffix(lineAfter(status, "VmRSS:"), " kB")
	kibibytes, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read resident size: VmRSS: %w", err)
	}
	return kibibytes << 10, nil
}

// machine says where figures were measured, and how busy it is: other work makes every time longer.
func machine() string {
	cpu, _ := os.ReadFile("/proc/cpuinfo") // left out where it can't be read
	load, _ := os.ReadFile("/proc/loadavg")
	model := strings.TrimPrefix(lineAfter(string(cpu), "model name"), ": ")
	return fmt.Sprintf("%s/%s, %d cores, %s, load average %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), model, firstWord(load))
}

// lineAfter is the rest of the first line that begins with prefix.
func lineAfter(text, prefix string) string {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

func firstWord(text []byte) string {
	word, _, _ := strings.Cut(string(text), " ")
	return word
}
