package worker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/worker"
)

// only returns the heartbeat of the one worker that a bus knows.
func only(t *testing.T, bus events.Bus) events.WorkerHeartbeat {
	t.Helper()
	var found []events.WorkerHeartbeat
	for h, err := range bus.Workers(t.Context(), false) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, h)
	}
	if len(found) != 1 {
		t.Fatalf("the bus knows %+v, want one worker", found)
	}
	return found[0]
}

func TestAWorkerSaysWhatItIsAndDoes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bus, began := offered(t), time.Now()
		f := &function{handle: func(ctx context.Context, task worker.Task) ([]events.Event, error) {
			if name := task.Worker; name.ID != "host-1" || name.Version != "v1" || name.Host == "" {
				t.Errorf("the job names worker %+v", name)
			}
			task.Report(events.Progress{Phase: "training"})
			time.Sleep(2 * time.Minute) // also after the worker was asked to stop
			return announce(ctx, task)
		}}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		ended := make(chan error, 1)
		w := worker.New(bus, worker.Options{Functions: []worker.Function{f}, Slots: 3, Classes: []string{"cpu", "big"}, ID: "host-1", Version: "v1", GPUs: []string{"0"}})
		go func() { ended <- w.Run(ctx) }()
		time.Sleep(30 * time.Second)
		h := only(t, bus)
		if h.ID != "host-1" || h.Version != "v1" || h.Slots != 3 || h.Busy != 1 || h.Free() != 2 || !slices.Equal(h.Classes, []string{"cpu", "big"}) ||
			!slices.Equal(h.Functions, []events.Function{events.FunctionTrain}) || !slices.Equal(h.GPUs, []string{"0"}) || !h.Started.Equal(began) || h.Host == "" {
			t.Errorf("it says %+v", h)
		}
		if len(h.Jobs) != 1 || h.Jobs[0].Run != "monday" || h.Jobs[0].Job != "j1" || h.Jobs[0].Attempt != "attempt-1" || h.Jobs[0].Phase != "training" {
			t.Errorf("it holds %+v", h.Jobs)
		}
		if now := time.Now(); h.Presence(now) != events.WorkerAlive || now.Sub(h.Heard) > events.WorkerPause {
			t.Errorf("it was heard of %s ago and is %s", now.Sub(h.Heard), h.Presence(now))
		}
		time.Sleep(45 * time.Second)
		if h = only(t, bus); h.Presence(time.Now()) != events.WorkerDraining || h.Free() != 0 || len(h.Jobs) != 1 {
			t.Errorf("while it stops, it is %+v", h)
		}
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if h = only(t, bus); h.Presence(time.Now()) != events.WorkerGone || !h.Ended || len(h.Jobs) != 0 || h.Busy != 0 {
			t.Errorf("once it has ended, it is %+v", h)
		}
		time.Sleep(events.WorkerKept)
		for h := range bus.Workers(t.Context(), false) {
			t.Errorf("later it is still known: %+v", h)
		}
	})
}

// A worker that dies without a word is late after some missed heartbeats, and then gone.
func TestAHeartbeatAges(t *testing.T) {
	t.Parallel()
	now := time.Now()
	h := events.WorkerHeartbeat{Heard: now}
	for age, want := range map[time.Duration]events.Presence{
		-time.Hour: events.WorkerAlive, 0: events.WorkerAlive, events.WorkerPause: events.WorkerAlive, 3 * events.WorkerPause: events.WorkerAlive,
		events.WorkerLate: events.WorkerIsLate, events.WorkerKept - 1: events.WorkerIsLate, events.WorkerKept: events.WorkerGone,
	} {
		if got := h.Presence(now.Add(age)); got != want {
			t.Errorf("after %s it is %s, want %s", age, got, want)
		}
	}
}

// deafBus takes no heartbeats: it fails, or never returns, which no bus may do.
type deafBus struct {
	events.Bus
	fails error
	beats atomic.Int32
	hangs chan struct{}
}

func (b *deafBus) ReportWorker(context.Context, events.WorkerStatus) error {
	b.beats.Add(1)
	if b.hangs != nil {
		<-b.hangs
	}
	return b.fails
}

func TestJobsGoOnWithoutHeartbeats(t *testing.T) {
	t.Parallel()
	for name, bus := range map[string]*deafBus{
		"a bus that does not answer":      {fails: events.ErrUnavailable},
		"a bus that refuses them":         {fails: fmt.Errorf("no: %w", events.ErrRefused)},
		"a bus that finds them too large": {fails: errors.New("too large")},
		"a bus that never returns":        {hangs: make(chan struct{})},
	} {
		synctest.Test(t, func(t *testing.T) {
			if bus.hangs != nil {
				bus.hangs = make(chan struct{}) // of this bubble
			}
			bus.Bus = offered(t)
			f := &function{handle: announce}
			began := time.Now()
			work(t, bus, f, time.Hour)
			if took := time.Since(began); took > time.Hour+2*time.Second {
				t.Errorf("%s: it stopped after %s", name, took)
			}
			if f.calls.Load() != 1 || len(evs(t, bus, events.KindHParamsReady)) != 1 || left(t, bus) {
				t.Errorf("%s: the job was not done", name)
			}
			if most := map[bool]int32{true: 14, false: 400}[errors.Is(bus.fails, events.ErrRefused)]; bus.beats.Load() > most {
				t.Errorf("%s: %d heartbeats in an hour", name, bus.beats.Load())
			}
			if bus.hangs != nil {
				close(bus.hangs)
				synctest.Wait()
			}
		})
	}
}

// countingBus counts heartbeats.
type countingBus struct {
	events.Bus
	beats atomic.Int32
}

func (b *countingBus) ReportWorker(ctx context.Context, w events.WorkerStatus) error {
	b.beats.Add(1)
	return b.Bus.ReportWorker(ctx, w)
}

func TestManyJobsMakeFewHeartbeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		memory := offered(t)
		for i := range 1000 {
			job := events.Job{
				ID: fmt.Sprint("many-", i), Function: events.FunctionTrain, Class: "cpu", Pipeline: "penguin", Revision: 1, Run: fmt.Sprint("r", i), Spec: []byte("{}"),
				Inputs: events.Inputs{TransformGraph: "s3://bkt/g"}, Causes: []events.Cause{{Kind: events.KindTransformReady, Source: "/test", ID: "cause", Sequence: 1}},
			}
			if err := memory.Enqueue(t.Context(), job); err != nil {
				t.Fatal(err)
			}
		}
		bus := &countingBus{Bus: memory}
		f := &function{handle: func(ctx context.Context, task worker.Task) ([]events.Event, error) {
			time.Sleep(10 * time.Millisecond)
			return announce(ctx, task)
		}}
		work(t, bus, f, 30*time.Second)
		if done := f.calls.Load(); done != 1001 {
			t.Errorf("%d jobs are done", done)
		}
		if beats := bus.beats.Load(); beats < 3 || beats > 32 {
			t.Errorf("%d heartbeats in 30 s", beats)
		}
	})
}

func TestIDsOfWorkersAreNames(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"laptop": "laptop-", "Stoker.Example": "stoker-example-", "": "worker-", "\x1b[31m": "31m-", "日本": "worker-", strings.Repeat("x.", 200): "x-x-",
	} {
		one, other := worker.NewID(host), worker.NewID(host)
		if events.CheckName("id", one) != nil || !strings.HasPrefix(one, want) || one == other {
			t.Errorf("on %q it is %q, and then %q", host, one, other)
		}
	}
}
