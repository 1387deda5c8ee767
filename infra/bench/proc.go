package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
)

// ticksPerSecond is USER_HZ, which is 100 on every Linux that Go runs on (proc(5), times(7)).
const ticksPerSecond = 100

// cpuTime returns the CPU time that processes have spent, with that of their children that ended
// and were waited for, in seconds. It moves in steps of 10 ms.
func cpuTime(pids ...int) (seconds float64, err error) {
	for _, pid := range pids {
		stat, err := statOf(pid)
		if err != nil {
			return 0, err
		}
		ticks := int(stat.UTime) + int(stat.STime) + stat.CUTime + stat.CSTime
		seconds += float64(ticks) / ticksPerSecond
	}
	return seconds, nil
}

func statOf(pid int) (procfs.ProcStat, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return procfs.ProcStat{}, err
	}
	return p.Stat()
}

// treeCPU returns the CPU time of a process and of its children, theirs that ended included.
func treeCPU(pid int) (float64, error) {
	children, err := childrenOf(pid)
	if err != nil {
		return 0, err
	}
	pids := []int{pid}
	for _, child := range children {
		pids = append(pids, child.PID)
	}
	return cpuTime(pids...)
}

func childrenOf(pid int) ([]procfs.Proc, error) {
	all, err := procfs.AllProcs()
	return slices.DeleteFunc(all, func(p procfs.Proc) bool {
		stat, err := p.Stat()
		return err != nil || stat.PPID != pid // a process that has ended has no parent
	}), err
}

// processCPU returns the CPU time that this process has spent, in seconds.
func processCPU() (float64, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, fmt.Errorf("read CPU time: %w", err)
	}
	return (time.Duration(usage.Utime.Nano()) + time.Duration(usage.Stime.Nano())).Seconds(), nil
}

// cpuOf returns the CPU time that this process spends while do runs.
func cpuOf(do func() error) (seconds float64, err error) {
	before, err := processCPU()
	if err != nil {
		return 0, err
	}
	if err := do(); err != nil {
		return 0, err
	}
	after, err := processCPU()
	return after - before, err
}

// memoryOf returns the memory of a process in megabytes: its share of the pages that it has in
// common with other processes and its own (PSS), and its own alone.
func memoryOf(pid int) (pss, private float64, err error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0, 0, err
	}
	m, err := p.ProcSMapsRollup()
	return float64(m.Pss) / 1e6, float64(m.PrivateClean+m.PrivateDirty) / 1e6, err
}

// machine describes the machine and its load: other work makes every time longer.
func machine() string {
	model, load := "unknown processor", "unknown"
	if fs, err := procfs.NewDefaultFS(); err == nil {
		if cpus, err := fs.CPUInfo(); err == nil && len(cpus) > 0 {
			model = cpus[0].ModelName
		}
		if average, err := fs.LoadAvg(); err == nil {
			load = fmt.Sprint(average.Load1)
		}
	}
	return fmt.Sprintf("%s/%s, %d cores, %s, load average %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), model, load)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
