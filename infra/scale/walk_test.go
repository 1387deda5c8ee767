package scale_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/infra/scale"
)

// Scales from no worker to the maximum and back to none, by the lag alone, with the real binary as
// KEDA starts it: every process runs one job and exits, none is started without a job, and every
// run has one model. Meanwhile one worker gets SIGTERM, as on a machine that is reclaimed, and one
// is killed.
func TestWorkersComeWithJobsAndGoWithThem(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the binary, and waits until the lease of a killed worker has run out")
	}
	t.Parallel()
	walk(t, ours{})
}

// judge computes the lag of a consumer and how many Jobs to start.
type judge interface {
	decide(t *testing.T, c scale.Consumer, s scale.ScaledJob, running int64) (lag, start int64)
}

// ours is this package.
type ours struct{}

func (ours) decide(t *testing.T, c scale.Consumer, s scale.ScaledJob, running int64) (lag, start int64) {
	t.Helper()
	lag, err := c.Lag(t.Context())
	must(t, err)
	return lag, s.Start(lag, running)
}

const (
	cpuRuns = 6
	gpuRuns = 2
	cpuMost = 3 // at once
)

func walk(t *testing.T, judge judge) {
	w := newWorld(t, judge)
	cpu, gpu := w.scaled("cpu", cpuMost), w.scaled("gpu", 1)

	t.Log("nothing to do: nobody is started")
	cpu.wantPoll(0, 0)
	gpu.wantPoll(0, 0)

	t.Log("jobs come: as many workers as there may be")
	w.publish("penguin", cpuRuns)
	w.publish("rockhopper", gpuRuns)
	w.eventually("the jobs are on the queue", func() bool { return cpu.lag() == cpuRuns && gpu.lag() == gpuRuns })
	cpu.wantPoll(cpuRuns, cpuMost)
	gpu.wantPoll(gpuRuns, 1)
	gpu.wantPoll(gpuRuns, 0) // the one that runs, or is still on its way, counts

	t.Log("a machine is reclaimed: the job goes back and another worker has it")
	reclaimed := gpu.working()
	reclaimed.signal(syscall.SIGTERM)
	reclaimed.wait()
	gpu.wantPoll(gpuRuns, 1)

	t.Log("a worker is killed: its job counts, and whoever comes for it waits until it is free")
	killed := gpu.working()
	killed.signal(syscall.SIGKILL)
	killed.wait()
	gpu.wantPoll(gpuRuns, 1)

	t.Log("jobs are done: workers go, and the next come until there is nothing to do")
	w.eventually("the queue is empty, and nobody is left", func() bool {
		return cpu.poll() == 0 && gpu.poll() == 0 && cpu.running() == 0 && gpu.running() == 0
	})
	cpu.wantPoll(0, 0)
	gpu.wantPoll(0, 0)

	cpu.wantWorkers(cpuRuns)
	gpu.wantWorkers(gpuRuns + 2) // and those of the two that did not finish
	w.wantModels(cpuRuns + gpuRuns)
}

const (
	pollingInterval = 50 * time.Millisecond
	patience        = 4 * time.Minute
	waitForJob      = "45s" // longer than a lease
)
