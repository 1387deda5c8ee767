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

// Lags can be read without a worker, also for classes that streams.yaml does not name. Without a
// bus the call fails at once.
func TestTheLagOfEveryQueueIsReported(t *testing.T) {
	t.Parallel()
	server := startBus(t)
	bus := connect(t, server, jetstream.Options{Create: true, Classes: []string{"tpu"}})
	for i, class := range []string{"cpu", "cpu", "tpu"} {
		job := durableJob(strconv.Itoa(i))
		job.Class = class
		if err := bus.Enqueue(t.Context(), job); err != nil {
			t.Fatal(err)
		}
	}
	taken, err := bus.Claim(t.Context(), events.FunctionTrain, []string{"cpu"}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	awaitLags(t, func() ([]jetstream.Lag, error) { return bus.QueueLags(t.Context()) },
		jetstream.Lag{Stream: "JOBS", Consumer: "train-cpu", Waiting: 1, Running: 1}, jetstream.Lag{Stream: "JOBS", Consumer: "train-tpu", Waiting: 1},
		jetstream.Lag{Stream: "JOBS", Consumer: "tune-cpu"})
	if err := taken.Ack(t.Context()); err != nil {
		t.Fatal(err)
	}
	awaitLags(t, func() ([]jetstream.Lag, error) { return bus.QueueLags(t.Context()) }, jetstream.Lag{Stream: "JOBS", Consumer: "train-cpu", Waiting: 1})
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if _, err := bus.QueueLags(t.Context()); err != nil && !errors.Is(err, events.ErrEmpty) {
			return
		}
		if time.Since(began) > time.Minute {
			t.Fatal("a bus that is away answers")
		}
	}
}

// awaitLags polls until it gets the wanted lags: a server counts the messages of a stream for its
// consumers a little later.
func awaitLags(t *testing.T, ask func() ([]jetstream.Lag, error), want ...jetstream.Lag) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		lags, err := ask()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(want, func(l jetstream.Lag) bool { return !slices.Contains(lags, l) }) {
			return
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("the queues are %+v, want %+v among them", lags, want)
		}
	}
}

// MayTakeJobs claims nothing, whatever is on the queue; it creates the queue of a class without
// workers.
func TestMayTakeJobsClaimsNothing(t *testing.T) {
	t.Parallel()
	bus := connect(t, startBus(t), jetstream.Options{Create: true})
	if err := bus.Enqueue(t.Context(), durableJob("1")); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := bus.MayTakeJobs(t.Context(), events.Functions(), []string{"cpu", "tpu"}); err != nil {
			t.Fatal(err)
		}
	}
	awaitLags(t, func() ([]jetstream.Lag, error) {
		return bus.JobLags(t.Context(), []events.Function{events.FunctionTrain}, []string{"cpu", "tpu"})
	}, jetstream.Lag{Stream: "JOBS", Consumer: "train-cpu", Waiting: 1}, jetstream.Lag{Stream: "JOBS", Consumer: "train-tpu"})
	if _, err := bus.Claim(t.Context(), events.FunctionTrain, []string{"cpu"}, time.Minute); err != nil {
		t.Errorf("the job is gone: %v", err)
	}
}
