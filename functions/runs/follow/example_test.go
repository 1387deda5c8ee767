package follow_test

import (
	"context"
	"fmt"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runs/follow"
)

// The events of a run are published, and its outcome is awaited, as `stoker publish --wait` does.
func ExampleEvents() {
	ctx, bus := context.Background(), bustest.NewMemory(0)
	p, err := pipeline.Parse("penguin.yaml", []byte("pipeline: penguin\nmodule: builtin:dnn\ntrainer: {wait_for: [examples]}\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, _, err := dispatch.Apply(ctx, bus, p); err != nil {
		fmt.Println(err)
		return
	}
	others := make(chan error, 1)
	go func() { others <- dispatchAndFail(ctx, bus) }() // a dispatcher and a worker

	outcome, err := follow.Events(ctx, bus, []events.Event{{
		ID: "examples-17", Source: "/tfx", Pipeline: "penguin", Run: "17",
		Data: &events.ExamplesReady{Examples: []events.Examples{{URI: "s3://tfx/penguin/examples/17"}}},
	}}, follow.Listener{Progress: func(events.Progress) {}, Waits: func(string) {}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(outcome.Run, outcome.Data.Kind(), outcome.Data.Summary(), <-others)
	// Output: 17 training.failed module: the module wrote no model <nil>
}

// dispatchAndFail handles one event, and gives the job up that follows from it.
func dispatchAndFail(ctx context.Context, bus events.Bus) error {
	dispatcher, err := dispatch.New(ctx, bus, nil)
	if err != nil {
		return err
	}
	if err := dispatcher.Next(ctx, time.Minute); err != nil {
		return err
	}
	claim, err := bus.Claim(ctx, events.FunctionTrain, []string{"cpu"}, time.Minute)
	if err != nil {
		return err
	}
	job, err := claim.Job()
	if err != nil {
		return err
	}
	failure := &events.Failure{Kind: events.FailureModule, Err: fmt.Errorf("the module wrote no model")}
	if _, err := bus.Publish(ctx, events.NewJobFailed(job, claim.Attempt(), failure)); err != nil {
		return err
	}
	return claim.Ack(ctx)
}
