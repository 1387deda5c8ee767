package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/local/natsserver"
)

// A pipeline is deployed, an event of a run is published, and the dispatcher puts the run's job on
// the queue of an embedded NATS server.
func ExampleDispatcher() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "bus")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	server, err := natsserver.Start(ctx, natsserver.Options{Dir: dir})
	if err != nil {
		panic(err)
	}
	defer server.Close()
	bus, err := jetstream.Connect(ctx, server.URL(), jetstream.Options{Create: true})
	if err != nil {
		panic(err)
	}
	defer bus.Close()

	penguin, err := pipeline.Parse("penguin.yaml", []byte("pipeline: penguin\nmodule: builtin:dnn\ntrainer: {wait_for: [examples]}\n"))
	if err != nil {
		panic(err)
	}
	if _, _, err := dispatch.Apply(ctx, bus, penguin); err != nil {
		panic(err)
	}
	_, err = bus.Publish(ctx, events.Event{
		ID: "example-gen-17", Source: "/tfx/example-gen", Pipeline: "penguin", Run: "17",
		Data: &events.ExamplesReady{Examples: []events.Examples{{URI: "s3://tfx/penguin/examples/17"}}},
	})
	if err != nil {
		panic(err)
	}

	dispatcher, err := dispatch.New(ctx, bus, nil)
	if err != nil {
		panic(err)
	}
	if err := dispatcher.Next(ctx, time.Minute); err != nil { // Run does so until its context ends
		panic(err)
	}
	claim, err := bus.Claim(ctx, events.FunctionTrain, []string{"cpu"}, time.Minute)
	if err != nil {
		panic(err)
	}
	job, err := claim.Job()
	fmt.Println(job.Function, job.Pipeline, job.Run, job.Inputs.Examples[0].URI, err)
	// Output: train penguin 17 s3://tfx/penguin/examples/17 <nil>
}

// Each change of a pipeline is a revision. Applying an equal pipeline again changes nothing.
func ExampleApply() {
	ctx, bus := context.Background(), bustest.NewMemory(0)
	for _, steps := range []string{"100", "200", "200"} {
		p, err := pipeline.Parse("penguin.yaml", []byte("pipeline: penguin\nmodule: builtin:dnn\ntrainer: {train_args: {num_steps: "+steps+"}}\n"))
		if err != nil {
			fmt.Println(err)
			return
		}
		revision, changed, err := dispatch.Apply(ctx, bus, p)
		fmt.Println(revision, changed, err)
	}
	revisions, err := dispatch.Revisions(ctx, bus, "penguin")
	for _, r := range revisions {
		fmt.Println("revision", r.Number, "trains", r.Spec.Trainer.TrainArgs.NumSteps, "steps")
	}
	fmt.Println(err)
	// Output:
	// 1 true <nil>
	// 2 true <nil>
	// 2 false <nil>
	// revision 1 trains 100 steps
	// revision 2 trains 200 steps
	// <nil>
}

// A run that waits for events is cancelled. It has no job, so it ends at once.
func ExampleCancel() {
	ctx, bus := context.Background(), bustest.NewMemory(0)
	p, err := pipeline.Parse("penguin.yaml", []byte("pipeline: penguin\nmodule: builtin:dnn\ntrainer: {wait_for: [examples, transform]}\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, _, err := dispatch.Apply(ctx, bus, p); err != nil {
		fmt.Println(err)
		return
	}
	ready := &events.TransformReady{TransformGraph: "s3://tfx/penguin/graph/17"}
	if _, err := bus.Publish(ctx, events.Event{ID: "transform-17", Source: "/tfx", Pipeline: "penguin", Run: "17", Data: ready}); err != nil {
		fmt.Println(err)
		return
	}
	dispatcher, err := dispatch.New(ctx, bus, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := dispatcher.Next(ctx, time.Minute); err != nil {
		fmt.Println(err)
		return
	}

	cancelled, err := dispatch.Cancel(ctx, bus, "penguin", "17")
	fmt.Printf("job %q, error %v\n", cancelled.Job, err)
	for recorded := range bus.Read(ctx, events.Query{Kinds: []events.Kind{events.KindTrainingFailed}}) {
		failed := events.FailedOf(recorded.Event.Data)
		fmt.Println(recorded.Event.Run, failed.Reason)
	}
	_, err = dispatch.Cancel(ctx, bus, "penguin", "18")
	fmt.Println("run 18:", errors.Is(err, events.ErrNotFound))
	// Output:
	// job "", error <nil>
	// 17 cancelled
	// run 18: true
}
