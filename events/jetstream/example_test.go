package jetstream_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/local/bus"
)

// A fact is published, told twice, and read back.
func ExampleConnect() {
	err := withBus(func(ctx context.Context, url string) error {
		box, err := jetstream.Connect(ctx, url, jetstream.Options{Create: true})
		if err != nil {
			return err
		}
		defer box.Close()
		fact := events.Fact{
			ID: "example-gen-17", Source: "/tfx/example-gen", Pipeline: "penguin", Run: "17",
			Data: &events.ExamplesReady{Examples: []events.Examples{{URI: "s3://tfx/penguin/examples/17"}}},
		}
		for range 2 {
			receipt, err := box.Publish(ctx, fact)
			if err != nil {
				return err
			}
			fmt.Printf("%+v\n", receipt)
		}
		for recorded, err := range box.Read(ctx, events.Query{Pipeline: "penguin"}) {
			if err != nil {
				return err
			}
			fmt.Println(recorded.Message.Sequence, recorded.Fact.Data.Kind(), recorded.Fact.Run)
		}
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// {Sequence:1 Duplicate:false}
	// {Sequence:1 Duplicate:true}
	// 1 examples.ready 17
}

// A worker takes a job, holds its lease while it works, and takes it off the queue.
func ExampleLetterbox_Take() {
	err := withBus(func(ctx context.Context, url string) error {
		box, err := jetstream.Connect(ctx, url, jetstream.Options{Create: true})
		if err != nil {
			return err
		}
		defer box.Close()
		err = box.Offer(ctx, events.Job{
			ID: "5f3a", Function: events.FunctionTrain, Class: "cpu", Pipeline: "penguin", Run: "17", Spec: []byte(`{}`),
			Causes: []events.Cause{{Kind: events.KindExamplesReady, Source: "/tfx/example-gen", ID: "example-gen-17", Sequence: 1}},
		})
		if err != nil {
			return err
		}
		claim, err := box.Take(ctx, events.FunctionTrain, []string{"cpu"}, time.Second)
		if err != nil {
			return err
		}
		err = claim.Hold(ctx, func(context.Context) error {
			job, err := claim.Job()
			fmt.Println("train", job.Pipeline, job.Run, "attempt", claim.Attempt().Number)
			return err
		})
		if err != nil {
			return err
		}
		return claim.Done(ctx)
	})
	fmt.Println(err)
	// Output:
	// train penguin 17 attempt 1
	// <nil>
}

// withBus runs do beside an embedded server.
func withBus(do func(ctx context.Context, url string) error) error {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "bus")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	server, err := bus.Start(ctx, bus.Options{Dir: dir})
	if err != nil {
		return err
	}
	defer server.Close()
	return do(ctx, server.URL())
}
