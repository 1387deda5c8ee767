package worker_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/worker"
)

// resting is a function whose job j1 waits for a minute without its slot, and whose job j2 takes
// other.
func resting(other time.Duration, finished func(job string)) *function {
	return &function{handle: func(ctx context.Context, task worker.Task) ([]events.Event, error) {
		took := other
		wait := func(ctx context.Context) error {
			select {
			case <-time.After(took):
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		var err error
		if task.Job.ID == "j1" && task.Attempt.Number == 1 {
			took = time.Minute
			err = task.WithoutSlot(ctx, wait)
		} else if task.Job.ID == "j2" {
			err = wait(ctx)
		}
		if err != nil {
			return nil, err
		}
		finished(task.Job.ID)
		return announce(ctx, task)
	}}
}

// A worker with one slot does another job meanwhile. If that takes longer, the waiting job finds no
// slot, and is delivered from the queue again.
func TestAWaitingJobReleasesItsSlotToOthers(t *testing.T) {
	t.Parallel()
	for other, want := range map[time.Duration]struct {
		order string
		calls int32
	}{time.Second: {"j2 j1 ", 2}, 90 * time.Second: {"j2 j1 ", 3}} {
		synctest.Test(t, func(t *testing.T) {
			order := ""
			f := resting(other, func(job string) { order += job + " " })
			bus := offered(t)
			second := events.Job{
				ID: "j2", Function: events.FunctionTrain, Class: "cpu", Pipeline: "penguin", Revision: 1, Run: "tuesday", Spec: []byte("{}"),
				Inputs: events.Inputs{TransformGraph: "s3://bkt/g"}, Causes: []events.Cause{{Kind: events.KindTransformReady, Source: "/test", ID: "cause", Sequence: 1}},
				Created: time.Now(),
			}
			if err := bus.Enqueue(t.Context(), second); err != nil {
				t.Fatal(err)
			}
			work(t, bus, f, 3*time.Minute)
			if order != want.order || f.calls.Load() != want.calls || left(t, bus) {
				t.Errorf("with another job of %v: done are %q in %d attempts, expected %q in %d", other, order, f.calls.Load(), want.order, want.calls)
			}
		})
	}
}

// The lease of a waiting job is kept, and a worker that stops hands the job back.
func TestAStoppingWorkerHandsBackAWaitingJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := resting(0, func(string) { t.Error("it was done") })
		bus := offered(t)
		work(t, bus, f, 50*time.Second)
		if f.calls.Load() != 1 || !left(t, bus) {
			t.Errorf("%d attempts, or the job is gone", f.calls.Load())
		}
	})
}

// A worker that does one job has no other for its slot. One of several functions hands the job
// back, because the job may wait for the one that such a worker claims next.
func TestOnceOfSeveralFunctionsDoesNotReleaseItsSlot(t *testing.T) {
	t.Parallel()
	f := &function{handle: func(ctx context.Context, task worker.Task) ([]events.Event, error) {
		if task.WithoutSlot != nil {
			t.Error("a job of a worker that does one may release its slot")
		}
		return announce(ctx, task)
	}}
	if worked, err := worker.New(offered(t), worker.Options{Functions: []worker.Function{f, f}}).Once(t.Context(), time.Second); !worked || err != nil {
		t.Errorf("worked %v: %v", worked, err)
	}
}

// A worker of one function waits: a job that it handed back would start another worker.
func TestOnceOfOneFunctionWaitsInItsSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var finished []string
		f := resting(0, func(job string) { finished = append(finished, job) })
		began, bus := time.Now(), offered(t)
		if worked, err := worker.New(bus, worker.Options{Functions: []worker.Function{f}}).Once(t.Context(), time.Second); !worked || err != nil {
			t.Errorf("worked %v: %v", worked, err)
		}
		if took := time.Since(began); len(finished) != 1 || finished[0] != "j1" || took < time.Minute {
			t.Errorf("finished %v after %s, want j1 after a minute", finished, took)
		}
	})
}
