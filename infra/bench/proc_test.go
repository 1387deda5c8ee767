package main

import (
	"os"
	"os/exec"
	"testing"
)

func TestThisProcessIsMeasured(t *testing.T) {
	t.Parallel()
	if stat, err := statOf(os.Getpid()); err != nil || stat.ResidentMemory() < 1<<20 {
		t.Errorf("%d bytes, %v", stat.ResidentMemory(), err)
	}
	if pss, private, err := memoryOf(os.Getpid()); err != nil || private <= 0 || pss < private {
		t.Errorf("PSS %v MB, private %v MB, %v", pss, private, err)
	}
	if _, err := cpuTime(1 << 30); err == nil {
		t.Error("a process that does not exist has CPU time")
	}
}

func TestCPUTimeIncludesChildrenThatEnded(t *testing.T) { // not parallel: other tests use CPU time
	before, err := cpuTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	own, err := processCPU()
	if err != nil {
		t.Fatal(err)
	}
	if err := exec.CommandContext(t.Context(), "sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done").Run(); err != nil {
		t.Fatal(err)
	}
	after, err := cpuTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	ownAfter, err := processCPU()
	if err != nil {
		t.Fatal(err)
	}
	if child := after - before - (ownAfter - own); child < 0.03 { // steps of 10 ms
		t.Errorf("a child that counted to 300,000 took %v CPU-seconds", child)
	}
}

func TestAChildIsFound(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }()
	children, err := childrenOf(os.Getpid())
	for _, child := range children {
		if child.PID == cmd.Process.Pid {
			return
		}
	}
	t.Errorf("process %d is not among the children %v, %v", cmd.Process.Pid, children, err)
}
