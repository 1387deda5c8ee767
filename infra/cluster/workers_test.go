package cluster

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/worker"
)

// counting is a function whose jobs do nothing but publish an outcome.
type counting struct{}

func (counting) Name() events.Function { return events.FunctionTrain }

func (counting) Handle(_ context.Context, task worker.Task) ([]events.Event, error) {
	return []events.Event{{ID: "done-" + task.Job.ID, Source: "/test", Pipeline: task.Job.Pipeline, Run: task.Job.Run, Data: &events.HParamsReady{Hyperparameters: "s3://bkt/hp"}}}, nil
}

func (counting) Limits(events.Job) worker.Limits { return worker.Limits{} }

func (counting) Failed(task worker.Task, failure *events.Failure) events.Event {
	return events.NewJobFailed(task.Job, task.Attempt, failure)
}

// does enqueues a job, and waits until a worker has done it. What goes unanswered while a new
// leader is elected is sent again.
func does(t *testing.T, bus *jetstream.Bus, run string) {
	t.Helper()
	again := func(send func() error) {
		t.Helper()
		eventually(t, func() bool {
			err := send()
			if err != nil && !errors.Is(err, events.ErrUnavailable) {
				t.Fatal(err)
			}
			return err == nil
		})
	}
	var receipt events.Receipt
	again(func() (err error) {
		receipt, err = bus.Publish(t.Context(), event("penguin", run))
		return err
	})
	job := events.Job{
		ID: "job-" + run, Function: events.FunctionTrain, Class: "cpu", Pipeline: "penguin", Run: run, Spec: []byte(`{}`),
		Causes: []events.Cause{{Kind: events.KindExamplesReady, Source: "/test", ID: run, Sequence: receipt.Sequence}},
	}
	again(func() error { return bus.Enqueue(t.Context(), job) })
	eventually(t, func() bool {
		for recorded, err := range bus.Read(t.Context(), events.Query{Kinds: []events.Kind{events.KindHParamsReady}, Run: run}) {
			return err == nil && recorded.Err == nil
		}
		return false
	})
}

// beatOf returns the number of the worker's last heartbeat that the stream keeps; 0 if none.
func beatOf(t *testing.T, bus *jetstream.Bus, id string) uint64 {
	t.Helper()
	for h, err := range bus.Workers(t.Context(), false) {
		if err != nil && !errors.Is(err, events.ErrUnavailable) && !errors.Is(err, events.ErrNotFound) {
			t.Fatal(err)
		}
		if h.ID == id {
			return h.Beat
		}
	}
	return 0
}

// TestWorkersGoOnWithoutHeartbeats: the heartbeats of a worker are lost with the server that leads
// their stream and the queue's, with the stream, and with the quorum; it does its jobs whenever the
// queue is there, and is heard of again.
func TestWorkersGoOnWithoutHeartbeats(t *testing.T) {
	t.Parallel()
	c := Start(t, t.TempDir())
	buses := c.buses(t, Size)
	const id = "host-1"
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	w := worker.New(buses[0], worker.Options{Functions: []worker.Function{counting{}}, ID: id})
	go func() { ended <- w.Run(ctx) }()
	defer func() { stop(); <-ended }()
	heard := func(what string) {
		t.Helper()
		before := beatOf(t, buses[0], id)
		eventually(t, func() bool { return beatOf(t, buses[0], id) > before })
		t.Log(what, "heard of, heartbeat", before+1)
	}
	does(t, buses[0], "whole")
	heard("whole")

	nc, js := connect(t, c, 0)
	for _, stream := range []string{events.StreamEvents, events.StreamJobs, events.StreamWorkers} {
		lead(t, c, nc, stream, 2)
	}
	must(t, c.Servers[2].Kill())
	does(t, buses[0], "killed")
	heard("killed")
	must(t, c.Servers[2].Start())

	// The leader of the metadata may have been the server that was killed.
	eventually(t, func() bool {
		err := js.DeleteStream(events.StreamWorkers)
		return err == nil || errors.Is(err, nats.ErrStreamNotFound)
	})
	for i := range 3 {
		does(t, buses[0], fmt.Sprint("lost-", i))
	}
	if beat := beatOf(t, buses[0], id); beat != 0 {
		t.Errorf("without the stream there is heartbeat %d", beat)
	}
	eventually(t, func() bool {
		_, err := jetstream.Setup(t.Context(), c.URL(0), jetstream.Options{Replicas: Size})
		if err != nil && !errors.Is(err, events.ErrUnavailable) {
			t.Fatal(err)
		}
		return err == nil
	})
	heard("again")

	c.Isolate(1, true)
	c.Isolate(2, true)
	time.Sleep(2 * events.WorkerPause) // heartbeats are sent meanwhile, and nobody keeps them
	select {
	case err := <-ended:
		t.Fatalf("the worker has ended without quorum: %v", err)
	default:
	}
	must(t, c.Heal())
	does(t, buses[0], "healed")
	heard("healed")
}
