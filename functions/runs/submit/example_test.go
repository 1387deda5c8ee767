package submit_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/runs/submit"
)

// A publisher finds out what an event will do before it publishes it.
func ExampleCheck() {
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
	event := events.Event{
		ID: "examples-17", Source: "/tfx", Pipeline: "penguin", Run: "17",
		Data: &events.ExamplesReady{Examples: []events.Examples{{URI: "s3://tfx/penguin/examples/17"}}},
	}
	effect, err := submit.Check(ctx, bus, event)
	fmt.Println("repeats:", effect.Repeats, err)

	event.Pipeline = "pengiun"
	_, err = submit.Check(ctx, bus, event)
	if none, ok := errors.AsType[*submit.NoEffect](err); ok {
		fmt.Println("unknown:", none.Unknown, "applied:", none.Applied)
	}
	// Output:
	// repeats: 0 <nil>
	// unknown: true applied: [penguin]
}

// The inputs of a run are trained on once more, as a new run of the pipeline as it is now.
func ExamplePlanRerun() {
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
	_, err = bus.Publish(ctx, events.Event{
		ID: "examples-17", Source: "/tfx", Pipeline: "penguin", Run: "17",
		Data: &events.ExamplesReady{Examples: []events.Examples{{URI: "s3://tfx/penguin/examples/17"}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	rerun, err := submit.PlanRerun(ctx, bus, runs.Key{Pipeline: "penguin", Run: "17"}, submit.RerunOptions{Force: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, event := range rerun.Events { // to be published by the caller
		fmt.Println(event.Run, event.Data.Kind(), event.Data.Summary(), "force:", events.RequestOf(event.Data).Force)
	}
	// Output: 17-2 examples.ready s3://tfx/penguin/examples/17 force: true
}
