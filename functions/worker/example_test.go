package worker_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/worker"
)

// trivial is a function that trains nothing: it refuses the data of one run, and announces
// hyperparameters for all others.
type trivial struct{}

func (trivial) Name() events.Function { return events.FunctionTrain }

func (trivial) Handle(_ context.Context, task worker.Task) ([]events.Event, error) {
	if task.Job.Run == "18" {
		return nil, events.Fail(events.FailureInput, errors.New("no split named train"))
	}
	data := &events.HParamsReady{Hyperparameters: "s3://tfx/penguin/hyperparameters"}
	return []events.Event{{ID: "done-" + task.Job.ID, Source: "/trivial", Pipeline: task.Job.Pipeline, Run: task.Job.Run, Data: data}}, nil
}

func (trivial) Limits(events.Job) worker.Limits { return worker.Limits{Attempts: 1, Crashes: 3} }

func (trivial) Failed(task worker.Task, failure *events.Failure) events.Event {
	return events.NewJobFailed(task.Job, task.Attempt, failure)
}

// Two jobs are on the queue. The worker publishes the event of the first one. It dead-letters the
// second one, because no retry can mend its data.
func Example() {
	ctx, bus := context.Background(), bustest.NewMemory(0)
	for _, run := range []string{"17", "18"} {
		err := bus.Enqueue(ctx, events.Job{
			ID: "job-" + run, Function: events.FunctionTrain, Class: "cpu", Pipeline: "penguin", Run: run, Spec: []byte(`{}`),
			Causes: []events.Cause{{Kind: events.KindExamplesReady, Source: "/tfx", ID: "examples-" + run, Sequence: 1}},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
	}

	w := worker.New(bus, worker.Options{Functions: []worker.Function{trivial{}}})
	for range 2 {
		if _, err := w.Once(ctx, time.Minute); err != nil { // Run does so until its context ends
			fmt.Println(err)
		}
	}
	for recorded := range bus.Read(ctx, events.Query{}) {
		fmt.Println(recorded.Event.Run, recorded.Event.Data.Kind())
	}
	for letter := range bus.DeadLetters(ctx) {
		fmt.Println("dead letter:", letter.Reason.Kind, "-", letter.Reason.Message)
	}
	// Output:
	// 17 hparams.ready
	// 18 training.failed
	// dead letter: input - no split named train
}
