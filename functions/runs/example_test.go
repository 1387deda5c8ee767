package runs_test

import (
	"context"
	"fmt"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runs"
)

// One run of a pipeline waits for its second event, the other one has its job.
func ExampleList() {
	ctx, bus := context.Background(), bustest.NewMemory(0)
	if err := twoRuns(ctx, bus); err != nil {
		fmt.Println(err)
		return
	}
	list, err := runs.List(ctx, bus, "penguin")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, run := range list {
		fmt.Println(run.Run, run.State, run.WaitsFor)
	}
	// Output:
	// tuesday queued []
	// monday waiting [transform.ready]
}

// A run with its timeline: the events, in the order of the log.
func ExampleSnapshot_Load() {
	ctx, bus := context.Background(), bustest.NewMemory(0)
	if err := twoRuns(ctx, bus); err != nil {
		fmt.Println(err)
		return
	}
	snapshot := runs.Open(bus, runs.Options{Timelines: true})
	run, err := snapshot.Load(ctx, runs.Key{Pipeline: "penguin", Run: "tuesday"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(run.Headline(), "with revision", run.Revision)
	for _, event := range run.Timeline.Events {
		fmt.Println(event.Sequence, event.Kind, event.ID)
	}
	// Output:
	// queued with revision 1
	// 2 examples.ready examples-2
	// 3 transform.ready graph-2
}

// An index is folded from the buckets and the log, as a caller reads them.
func ExampleIndex() {
	ctx, bus := context.Background(), bustest.NewMemory(0)
	if err := twoRuns(ctx, bus); err != nil {
		fmt.Println(err)
		return
	}
	index := runs.NewIndex(runs.Options{})
	for _, name := range runs.Buckets() {
		bucket, err := bus.KV(ctx, name)
		if err != nil {
			fmt.Println(err)
			return
		}
		for entry := range bucket.All(ctx) {
			index.Apply(name, entry)
		}
	}
	for recorded := range bus.Read(ctx, events.Query{}) {
		index.ApplyEvent(recorded)
	}
	run, known := index.Run(runs.Key{Pipeline: "penguin", Run: "monday"})
	fmt.Println(index.Len(), "runs up to event", index.Tail())
	fmt.Println(run.Headline(), "- over:", run.Over(), known)
	// Output:
	// 2 runs up to event 3
	// waiting - over: false true
}

// twoRuns deploys a pipeline and publishes and handles the events of two of its runs.
func twoRuns(ctx context.Context, bus events.Bus) error {
	p, err := pipeline.Parse("penguin.yaml", []byte("pipeline: penguin\nmodule: builtin:dnn\ntrainer: {wait_for: [examples, transform]}\n"))
	if err != nil {
		return err
	}
	if _, _, err := dispatch.Apply(ctx, bus, p); err != nil {
		return err
	}
	dispatcher, err := dispatch.New(ctx, bus, nil)
	if err != nil {
		return err
	}
	examples := &events.ExamplesReady{Examples: []events.Examples{{URI: "s3://tfx/penguin/examples/17"}}}
	graph := &events.TransformReady{TransformGraph: "s3://tfx/penguin/graph/17"}
	for _, event := range []events.Event{
		{ID: "examples-1", Source: "/tfx", Pipeline: "penguin", Run: "monday", Data: examples},
		{ID: "examples-2", Source: "/tfx", Pipeline: "penguin", Run: "tuesday", Data: examples},
		{ID: "graph-2", Source: "/tfx", Pipeline: "penguin", Run: "tuesday", Data: graph},
	} {
		if _, err := bus.Publish(ctx, event); err != nil {
			return err
		}
		if err := dispatcher.Next(ctx, time.Minute); err != nil {
			return err
		}
	}
	return nil
}
