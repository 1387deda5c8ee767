package jetstream_test

import (
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
)

// How long the queues are is told without a worker, of classes that streams.yaml does not name too. A bus that is away is told at once.
func TestTheLagOfEveryQueueIsTold(t *testing.T) {
	t.Parallel()
	server := startBus(t)
	box := connect(t, server, jetstream.Options{Create: true, Classes: []string{"tpu"}})
	for i, class := range []string{"cpu", "cpu", "tpu"} {
		job := durableJob(strconv.Itoa(i))
		job.Class = class
		if err := box.Offer(t.Context(), job); err != nil {
			t.Fatal(err)
		}
	}
	taken, err := box.Take(t.Context(), events.FunctionTrain, []string{"cpu"}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	lags, err := box.QueueLags(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []jetstream.Lag{
		{Stream: "JOBS", Consumer: "train-cpu", Waiting: 1, Running: 1}, {Stream: "JOBS", Consumer: "train-tpu", Waiting: 1}, {Stream: "JOBS", Consumer: "tune-cpu"},
	} {
		if !slices.Contains(lags, want) {
			t.Errorf("%+v is missing in %+v", want, lags)
		}
	}
	if err := taken.Done(t.Context()); err != nil {
		t.Fatal(err)
	}
	if lags, err := box.QueueLags(t.Context()); err != nil || !slices.Contains(lags, jetstream.Lag{Stream: "JOBS", Consumer: "train-cpu", Waiting: 1}) {
		t.Errorf("once a job is done: %+v, %v", lags, err)
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if _, err := box.QueueLags(t.Context()); err != nil && !errors.Is(err, events.ErrEmpty) {
			return
		}
		if time.Since(began) > time.Minute {
			t.Fatal("a bus that is away answers")
		}
	}
}

// Who asks whether it may take is handed nothing, whatever lies there; the queue of a class that nobody has served is made.
func TestWhoAsksWhetherItMayTakeTakesNothing(t *testing.T) {
	t.Parallel()
	box := connect(t, startBus(t), jetstream.Options{Create: true})
	if err := box.Offer(t.Context(), durableJob("1")); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := box.MayTakeJobs(t.Context(), events.Functions(), []string{"cpu", "tpu"}); err != nil {
			t.Fatal(err)
		}
	}
	lags, err := box.JobLags(t.Context(), []events.Function{events.FunctionTrain}, []string{"cpu", "tpu"})
	want := []jetstream.Lag{{Stream: "JOBS", Consumer: "train-cpu", Waiting: 1}, {Stream: "JOBS", Consumer: "train-tpu"}}
	if err != nil || !slices.Equal(lags, want) {
		t.Errorf("the queues are %+v, %v, want %+v", lags, err, want)
	}
	if _, err := box.Take(t.Context(), events.FunctionTrain, []string{"cpu"}, time.Minute); err != nil {
		t.Errorf("the job is gone: %v", err)
	}
}
