package jetstream_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/local/natsserver"
)

// An event is published twice and read back.
func ExampleConnect() {
	err := withBus(func(ctx context.Context, url string) error {
		bus, err := jetstream.Connect(ctx, url, jetstream.Options{Create: true})
		if err != nil {
			return err
		}
		defer bus.Close()
		event := events.Event{
			ID: "example-gen-17", Source: "/tfx/example-gen", Pipeline: "penguin", Run: "17",
			Data: &events.ExamplesReady{Examples: []events.Examples{{URI: "s3://tfx/penguin/examples/17"}}},
		}
		for range 2 {
			receipt, err := bus.Publish(ctx, event)
			if err != nil {
				return err
			}
			fmt.Printf("%+v\n", receipt)
		}
		for recorded, err := range bus.Read(ctx, events.Query{Pipeline: "penguin"}) {
			if err != nil {
				return err
			}
			fmt.Println(recorded.Message.Sequence, recorded.Event.Data.Kind(), recorded.Event.Run)
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

// A worker claims a job, holds its lease while it works, and acknowledges it.
func ExampleBus_Claim() {
	err := withBus(func(ctx context.Context, url string) error {
		bus, err := jetstream.Connect(ctx, url, jetstream.Options{Create: true})
		if err != nil {
			return err
		}
		defer bus.Close()
		err = bus.Enqueue(ctx, events.Job{
			ID: "5f3a", Function: events.FunctionTrain, Class: "cpu", Pipeline: "penguin", Run: "17", Spec: []byte(`{}`),
			Causes: []events.Cause{{Kind: events.KindExamplesReady, Source: "/tfx/example-gen", ID: "example-gen-17", Sequence: 1}},
		})
		if err != nil {
			return err
		}
		claim, err := bus.Claim(ctx, events.FunctionTrain, []string{"cpu"}, time.Second)
		if err != nil {
			return err
		}
		err = claim.KeepAlive(ctx, func(context.Context) error {
			job, err := claim.Job()
			fmt.Println("train", job.Pipeline, job.Run, "attempt", claim.Attempt().Number)
			return err
		})
		if err != nil {
			return err
		}
		return claim.Ack(ctx)
	})
	fmt.Println(err)
	// Output:
	// train penguin 17 attempt 1
	// <nil>
}

// withBus runs do with an embedded server.
func withBus(do func(ctx context.Context, url string) error) error {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "bus")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	server, err := natsserver.Start(ctx, natsserver.Options{Dir: dir})
	if err != nil {
		return err
	}
	defer server.Close()
	return do(ctx, server.URL())
}
