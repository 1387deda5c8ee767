package worker_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/worker"
)

// tuning is a function that tunes.
type tuning struct{ function }

func (*tuning) Name() events.Function { return events.FunctionTune }

func TestAWorkerOfSeveralFunctionsDoesNotWaitForTheFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bus, train := bustest.NewMemory(0), &function{handle: announce}
		tune := &tuning{function{handle: func(context.Context, worker.Task) ([]events.Event, error) { return nil, nil }}}
		w := worker.New(bus, worker.Options{Functions: []worker.Function{train, tune}})
		began := time.Now()
		if worked, err := w.Once(t.Context(), 3*time.Second); worked || err != nil || time.Since(began) != 3*time.Second {
			t.Errorf("on empty queues: %v, %v after %s", worked, err, time.Since(began))
		}
		job := events.Job{ID: "t1", Function: events.FunctionTune, Class: "cpu", Pipeline: "penguin", Run: "monday", Spec: []byte("{}"),
			Causes: []events.Cause{{Kind: events.KindTransformReady, Source: "/test", ID: "cause"}}}
		if err := bus.Enqueue(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		began = time.Now()
		if worked, err := w.Once(t.Context(), time.Hour); !worked || err != nil || time.Since(began) > 0 || tune.calls.Load() != 1 || train.calls.Load() != 0 {
			t.Errorf("%v, %v after %s", worked, err, time.Since(began))
		}
	})
}

func TestHyperparametersUnderTheNameOfLostOnesAreTheNextGeneration(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		found := func(job events.Job, attempt string) events.Event {
			return events.NewHParamsFound(job, &events.HParamsReady{Hyperparameters: "s3://bkt/best/" + attempt,
				Execution: "sha256:" + strings.Repeat("0", 64), Generation: job.Generation}, time.Unix(1, 0))
		}
		f := &function{handle: func(_ context.Context, task worker.Task) ([]events.Event, error) {
			return []events.Event{found(task.Job, "second")}, nil
		}}
		bus := offered(t)
		if _, err := bus.Publish(t.Context(), found(events.Job{Function: events.FunctionTrain, Pipeline: "penguin", Run: "monday"}, "first")); err != nil {
			t.Fatal(err)
		}
		work(t, bus, f, time.Hour)
		published := evs(t, bus, events.KindHParamsReady)
		if last := published[len(published)-1].Data.(*events.HParamsReady); len(published) != 2 || last.Generation != 1 || last.Hyperparameters != "s3://bkt/best/second" {
			t.Errorf("published %d events, the last of %+v", len(published), last)
		}
	})
}

func TestTheSlotsOfAWorkerAreThoseOfAllItsFunctions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var busy, most, done atomic.Int32
		do := func(context.Context, worker.Task) ([]events.Event, error) {
			most.Store(max(most.Load(), busy.Add(1)))
			time.Sleep(time.Minute)
			busy.Add(-1)
			done.Add(1)
			return nil, nil
		}
		bus := bustest.NewMemory(0)
		for i := range 6 {
			job := events.Job{ID: fmt.Sprint("j", i), Function: []events.Function{events.FunctionTrain, events.FunctionTune}[i%2], Class: "cpu",
				Pipeline: "penguin", Run: "monday", Spec: []byte("{}"), Causes: []events.Cause{{Kind: events.KindTransformReady, Source: "/test", ID: "cause"}}}
			if err := bus.Enqueue(t.Context(), job); err != nil {
				t.Fatal(err)
			}
		}
		functions := []worker.Function{&function{handle: do}, &tuning{function{handle: do}}}
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
		defer stop()
		if err := worker.New(bus, worker.Options{Functions: functions, Slots: 2}).Run(ctx); err != nil {
			t.Fatal(err)
		}
		if most.Load() != 2 || done.Load() != 6 {
			t.Errorf("%d jobs at once, %d done", most.Load(), done.Load())
		}
	})
}
