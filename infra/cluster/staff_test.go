package cluster

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/worker"
)

// startDispatcher runs a dispatcher; the function that it returns ends it.
func startDispatcher(t *testing.T, bus events.Bus) (stop func()) {
	t.Helper()
	d, err := dispatch.New(t.Context(), bus, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = d.Run(ctx) })
	return func() { cancel(); running.Wait() }
}

func publish(t *testing.T, bus *jetstream.Bus, f events.Event) events.Receipt {
	t.Helper()
	receipt, err := bus.Publish(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return receipt
}

func pipelineOf(t *testing.T, text string) pipeline.Pipeline {
	t.Helper()
	p, err := pipeline.Parse("p.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// trainer is a function that does not train, and records the last attempt at each run.
type trainer struct {
	mu   sync.Mutex
	runs map[string]int
}

func (f *trainer) on(bus events.Bus) *worker.Worker {
	return worker.New(bus, worker.Options{Functions: []worker.Function{f}, Slots: 2})
}

func (*trainer) Name() events.Function { return events.FunctionTrain }

func (*trainer) Limits(events.Job) worker.Limits { return worker.Limits{Attempts: 1, Crashes: 1} }

func (*trainer) Failed(task worker.Task, failure *events.Failure) events.Event {
	return events.NewJobFailed(task.Job, task.Attempt, failure)
}

func (f *trainer) Handle(_ context.Context, task worker.Task) ([]events.Event, error) {
	job := task.Job
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.runs == nil {
		f.runs = map[string]int{}
	}
	f.runs[job.Pipeline+"/"+job.Run] = task.Attempt.Number
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(job.ID)))
	return []events.Event{events.NewModelTrained(job, &events.ModelTrained{
		Model:     events.Model{URI: "s3://bkt/" + job.ID, Digest: digest, Formats: []string{"Format-Serving"}},
		Execution: digest, Inputs: []events.Artifact{{Type: "TransformGraph", URI: "s3://bkt/g", Digest: digest}},
		Module: "builtin:dnn", Started: job.Created, Finished: job.Created, Attempts: task.Attempt.Number,
	})}, nil
}

func (f *trainer) attempts() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.runs)
}

// quiet waits until dispatchers have handled every event.
func (c *Cluster) quiet(t *testing.T) {
	t.Helper()
	_, js := connect(t, c, 0)
	eventually(t, func() bool {
		log, err := js.StreamInfo("EVENTS")
		if err != nil {
			return false
		}
		reader, err := js.ConsumerInfo("EVENTS", dispatch.Reader)
		return err == nil && reader.AckFloor.Stream == log.State.LastSeq
	})
}

const longWait = 2 * time.Minute

// claim takes the job of a run and leaves it as a worker that dies. A job of another run is on the
// queue only if it was enqueued again while a worker was finishing it: it is acknowledged.
func claim(t *testing.T, bus *jetstream.Bus, run string) {
	t.Helper()
	for {
		claimed, err := bus.Claim(t.Context(), events.FunctionTrain, []string{"cpu"}, longWait)
		if err != nil {
			t.Fatal(err)
		}
		job, err := claimed.Job()
		must(t, err)
		if job.Run == run {
			return
		}
		must(t, claimed.Ack(t.Context()))
	}
}
