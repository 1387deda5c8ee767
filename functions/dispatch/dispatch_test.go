package dispatch_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

const joined = `
pipeline: penguin
module: builtin:dnn
trainer:
  wait_for: [transform, hparams]
  train_args: {num_steps: 1}
  hyperparameters: run
`

const alone = `
pipeline: penguin
module: builtin:dnn
trainer:
  wait_for: [transform]
  train_args: {num_steps: 1}
  hyperparameters: latest
`

func setup(t *testing.T, text string) (*bustest.Memory, *dispatch.Dispatcher) {
	t.Helper()
	bus := bustest.NewMemory(0)
	apply(t, bus, text)
	dispatcher, err := dispatch.New(t.Context(), bus, nil)
	if err != nil {
		t.Fatal(err)
	}
	return bus, dispatcher
}

func apply(t *testing.T, bus events.Bus, text string) uint64 {
	t.Helper()
	p, err := pipeline.Parse("penguin.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	revision, _, err := dispatch.Apply(t.Context(), bus, p)
	if err != nil {
		t.Fatal(err)
	}
	return revision
}

func publish(t *testing.T, bus events.Bus, run, id string, data events.Data) {
	t.Helper()
	event := events.Event{ID: id, Source: "/test", Pipeline: "penguin", Run: run, Data: data}
	if _, err := bus.Publish(t.Context(), event); err != nil {
		t.Fatal(err)
	}
}

func transform() events.Data {
	return &events.TransformReady{TransformGraph: "s3://bkt/graph", TransformedExamples: []events.Examples{{URI: "s3://bkt/tx", Splits: []string{"train", "eval"}}}}
}

func hparams(uri string) events.Data { return &events.HParamsReady{Hyperparameters: uri} }

// drain handles every waiting event.
func drain(t *testing.T, d *dispatch.Dispatcher) {
	t.Helper()
	for {
		err := d.Next(t.Context(), 0)
		if errors.Is(err, events.ErrEmpty) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// jobs takes all jobs off the queue.
func jobs(t *testing.T, bus events.Bus) []events.Job {
	t.Helper()
	var all []events.Job
	for {
		claim, err := bus.Claim(t.Context(), events.FunctionTrain, []string{"cpu"}, 0)
		if errors.Is(err, events.ErrEmpty) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		job, err := claim.Job()
		if err != nil {
			t.Fatal(err)
		}
		if err := claim.Ack(t.Context()); err != nil {
			t.Fatal(err)
		}
		all = append(all, job)
	}
}

func TestTheLastEventOfARunMakesItsJob(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, joined)
	publish(t, bus, "monday", "t", transform())
	publish(t, bus, "tuesday", "h", hparams("s3://bkt/other"))
	drain(t, d)
	if early := jobs(t, bus); len(early) != 0 {
		t.Fatalf("%d jobs before the join was complete", len(early))
	}
	publish(t, bus, "monday", "h", hparams("s3://bkt/hp"))
	drain(t, d)
	got := jobs(t, bus)
	if len(got) != 1 || got[0].Run != "monday" || got[0].Inputs.Hyperparameters != "s3://bkt/hp" || len(got[0].Causes) != 2 || got[0].Causes[1].ID != "h" {
		t.Fatalf("jobs %+v", got)
	}
}

func TestAnEventOfADispatchedRunEnqueuesNothing(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, alone)
	publish(t, bus, "monday", "t", transform())
	drain(t, d)
	publish(t, bus, "monday", "published-again", transform())
	drain(t, d)
	job := wantJobs(t, bus, "while it is on the queue", "monday")[0]
	finish(t, bus, d, job)
	publish(t, bus, "monday", "and-again", transform())
	drain(t, d)
	wantJobs(t, bus, "once it is done")
}

func TestManyDispatchersAndManyCopiesOfAnEventMakeOneJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bus, _ := setup(t, joined)
		var publishers sync.WaitGroup
		for i := range 8 {
			publishers.Go(func() {
				for range 20 {
					publish(t, bus, "monday", "t", transform())
					publish(t, bus, "monday", "h-"+string(rune('a'+i)), hparams("s3://bkt/hp"))
				}
			})
		}
		publishers.Wait()
		ctx, stop := context.WithCancel(t.Context())
		var dispatchers sync.WaitGroup
		for range 4 {
			d, err := dispatch.New(ctx, bus, nil)
			if err != nil {
				t.Fatal(err)
			}
			dispatchers.Go(func() {
				if err := d.Run(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(time.Minute)
		stop()
		dispatchers.Wait()
		if got := jobs(t, bus); len(got) != 1 {
			t.Errorf("%d jobs, want one", len(got))
		}
	})
}

func TestLatestIsPinnedWhenTheRunIsComplete(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, alone)
	publish(t, bus, "sunday", "h1", hparams("s3://bkt/old"))
	publish(t, bus, "monday", "t", transform())
	publish(t, bus, "tuesday", "h2", hparams("s3://bkt/late"))
	drain(t, d)
	got := jobs(t, bus)
	if len(got) != 1 || got[0].Inputs.Hyperparameters != "s3://bkt/old" {
		t.Fatalf("jobs %+v", got)
	}
}

func TestARunKeepsThePipelineItWasCompletedWith(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, alone)
	publish(t, bus, "monday", "t", transform())
	drain(t, d)
	before := jobs(t, bus)
	after := apply(t, bus, strings.Replace(alone, "num_steps: 1", "num_steps: 2", 1))
	publish(t, bus, "tuesday", "t", transform())
	drain(t, d)
	got := jobs(t, bus)
	if len(before) != 1 || len(got) != 1 || got[0].Revision != after || before[0].Revision == after {
		t.Fatalf("jobs %+v and %+v", before, got)
	}
}

func TestApplyingTheSameAgainIsNoRevision(t *testing.T) {
	t.Parallel()
	bus, _ := setup(t, alone)
	if first, second := apply(t, bus, alone), apply(t, bus, alone); first != second {
		t.Errorf("revisions %d and %d", first, second)
	}
}

func TestAnEventThatCanNeverStartARunIsDeadLetteredAndAnnounced(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, alone)
	stranger := events.Event{ID: "x", Source: "/test", Pipeline: "pinguin", Run: "monday", Data: transform()}
	if _, err := bus.Publish(t.Context(), stranger); err != nil {
		t.Fatal(err)
	}
	for subject, body := range map[string]string{
		"events.examples-ready.penguin.monday.1": `{"specversion":"1.0","id":"1","source":"/x","type":"dev.stoker.examples.eaten.v1","subject":"penguin","run":"monday","data":{}}`,
		"events.examples-ready.penguin.monday.2": `{"specversion":"1.0","id":"2","source":"/x","type":"dev.stoker.examples.ready.v1","subject":"penguin","data":{"examples":[{"uri":"s3://bkt/x"}]}}`,
	} {
		if err := bus.Inject(t.Context(), subject, nil, []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	drain(t, d)
	var reasons []string
	for deadLetter, err := range bus.DeadLetters(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if deadLetter.Reason.Kind != events.FailureInput || len(deadLetter.Message.Body) == 0 {
			t.Errorf("dead letter %+v", deadLetter)
		}
		reasons = append(reasons, deadLetter.Reason.Field)
	}
	if len(reasons) != 3 {
		t.Errorf("reasons %q, want three", reasons)
	}
	for recorded, err := range bus.Read(t.Context(), events.Query{Kinds: []events.Kind{events.KindTrainingFailed}}) {
		if err != nil || recorded.Event.Causation != "x" && recorded.Event.Causation != "inline" {
			t.Errorf("published %+v, %v", recorded.Event, err)
		}
	}
	publish(t, bus, "monday", "inline", &events.TransformReady{TransformGraph: "s3://bkt/graph", Request: events.Request{PipelineSpec: []byte("{}")}})
	drain(t, d)
	if got := jobs(t, bus); len(got) != 0 {
		t.Errorf("%d jobs of an event that brought its own pipeline", len(got))
	}
	publish(t, bus, "monday", "t", transform())
	drain(t, d)
	if got := jobs(t, bus); len(got) != 1 {
		t.Errorf("%d jobs afterwards, want one", len(got))
	}
}
