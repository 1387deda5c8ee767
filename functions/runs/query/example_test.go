package query_test

import (
	"context"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/runs/query"
)

// The run that a user names without its pipeline is found, if only one pipeline has it.
func ExampleRun() {
	ctx, bus := context.Background(), bustest.NewMemory(0)
	for pipeline, run := range map[string]string{"penguin": "17", "taxi": "18"} {
		data := &events.TransformReady{TransformGraph: "s3://tfx/graph"}
		if _, err := bus.Publish(ctx, events.Event{ID: "e", Source: "/tfx", Pipeline: pipeline, Run: run, Data: data}); err != nil {
			fmt.Println(err)
			return
		}
	}
	key, err := query.Run(ctx, bus, "", "18")
	fmt.Println(key.Pipeline, key.Run, err)
	_, err = query.Run(ctx, bus, "penguin", "18")
	fmt.Println(err)
	// Output:
	// taxi 18 <nil>
	// no event of run 18: not found
}

// Everything that is known of a run which has failed.
func ExampleOf() {
	ctx, bus := context.Background(), bustest.NewMemory(0)
	failed := &events.TrainingFailed{Failed: events.Failed{Reason: events.FailureModule, Message: "ValueError: no label", Attempt: 1}}
	for _, event := range []events.Event{
		{ID: "graph", Source: "/tfx", Pipeline: "penguin", Run: "17", Data: &events.TransformReady{TransformGraph: "s3://tfx/graph"}},
		{ID: "failed", Source: events.Source(events.FunctionTrain), Pipeline: "penguin", Run: "17", Data: failed},
	} {
		if _, err := bus.Publish(ctx, event); err != nil {
			fmt.Println(err)
			return
		}
	}
	key, err := query.Run(ctx, bus, "", "17")
	if err != nil {
		fmt.Println(err)
		return
	}
	detail, err := query.Of(ctx, bus, key)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(detail.State, "-", detail.Error)
	for _, event := range detail.Events {
		fmt.Println(event.Sequence, event.Kind)
	}
	// Output:
	// failed - ValueError: no label
	// 1 transform.ready
	// 2 training.failed
}
