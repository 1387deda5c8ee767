package jetstream_test

import (
	"context"
	"errors"
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
		claim, err := bus.Claim(ctx, events.FunctionTrain, []string{"cpu"}, time.Minute)
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

// A durable reader follows the log: an event is delivered until it is acknowledged.
func ExampleBus_Follow() {
	err := withBus(func(ctx context.Context, url string) error {
		bus, err := jetstream.Connect(ctx, url, jetstream.Options{Create: true})
		if err != nil {
			return err
		}
		defer bus.Close()
		ready := &events.TransformReady{TransformGraph: "s3://tfx/penguin/graph/17"}
		if _, err := bus.Publish(ctx, events.Event{ID: "graph-17", Source: "/tfx", Pipeline: "penguin", Run: "17", Data: ready}); err != nil {
			return err
		}
		delivery, err := bus.Follow(ctx, "my-reader", time.Minute)
		if err != nil {
			return err
		}
		recorded := delivery.Recorded()
		fmt.Println(delivery.Deliveries(), recorded.Event.ID, recorded.Event.Data.Summary())
		return delivery.Ack(ctx)
	})
	fmt.Println(err)
	// Output:
	// 1 graph-17 s3://tfx/penguin/graph/17
	// <nil>
}

// A message that can never be handled is dead-lettered with the reason, and deleted by an operator.
func ExampleBus_DeadLetters() {
	err := withBus(func(ctx context.Context, url string) error {
		bus, err := jetstream.Connect(ctx, url, jetstream.Options{Create: true})
		if err != nil {
			return err
		}
		defer bus.Close()
		ready := &events.TransformReady{TransformGraph: "s3://tfx/penguin/graph/17"}
		if _, err := bus.Publish(ctx, events.Event{ID: "graph-17", Source: "/tfx", Pipeline: "pengiun", Run: "17", Data: ready}); err != nil {
			return err
		}
		delivery, err := bus.Follow(ctx, "my-reader", time.Minute)
		if err != nil {
			return err
		}
		if err := delivery.Term(ctx, events.DeadReason{Kind: events.FailureInput, Message: "no such pipeline", Field: "subject"}); err != nil {
			return err
		}
		for letter, err := range bus.DeadLetters(ctx) {
			if err != nil {
				return err
			}
			fmt.Println(letter.Message.Subject, "-", letter.Reason.Message)
			if err := bus.DeleteDeadLetter(ctx, letter.Sequence); err != nil {
				return err
			}
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// events.transform-ready.pengiun.17.graph-17 - no such pipeline
	// <nil>
}

// A key is created once, and replaced only by a writer that has read its last value.
func ExampleBus_KV() {
	err := withBus(func(ctx context.Context, url string) error {
		bus, err := jetstream.Connect(ctx, url, jetstream.Options{Create: true})
		if err != nil {
			return err
		}
		defer bus.Close()
		joins, err := bus.KV(ctx, events.KVJoins)
		if err != nil {
			return err
		}
		first, err := joins.Create(ctx, "penguin/17", []byte("waiting"))
		if err != nil {
			return err
		}
		if _, err := joins.Update(ctx, "penguin/17", []byte("complete"), first); err != nil {
			return err
		}
		_, err = joins.Update(ctx, "penguin/17", []byte("ended"), first)
		fmt.Println("stale:", errors.Is(err, events.ErrConflict))
		entry, err := joins.Get(ctx, "penguin/17")
		fmt.Println(entry.Key, string(entry.Value))
		return err
	})
	fmt.Println(err)
	// Output:
	// stale: true
	// penguin/17 complete
	// <nil>
}

// Two workers append to the log of a study. The one that has not read the newest entry is refused.
func ExampleBus_AppendStudy() {
	err := withBus(func(ctx context.Context, url string) error {
		bus, err := jetstream.Connect(ctx, url, jetstream.Options{Create: true})
		if err != nil {
			return err
		}
		defer bus.Close()
		study := events.Study{Pipeline: "penguin", ID: "c0ffee"}
		begun, err := bus.AppendStudy(ctx, study, []byte(`{"begun": {}}`), 0)
		if err != nil {
			return err
		}
		if _, err := bus.AppendStudy(ctx, study, []byte(`{"started": 1}`), begun); err != nil {
			return err
		}
		_, err = bus.AppendStudy(ctx, study, []byte(`{"started": 2}`), begun)
		fmt.Println("refused:", errors.Is(err, events.ErrConflict))
		for entry, err := range bus.ReadStudy(ctx, study, begun, false) {
			fmt.Println(string(entry.Body), err)
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// refused: true
	// {"started": 1} <nil>
	// <nil>
}

// A process asks the one that serves a subject.
func ExampleBus_Request() {
	err := withBus(func(ctx context.Context, url string) error {
		bus, err := jetstream.Connect(ctx, url, jetstream.Options{Create: true})
		if err != nil {
			return err
		}
		defer bus.Close()
		subject := events.HostSubject("cpu", "group-1", 0)
		stop, err := bus.Serve(ctx, subject, func(body []byte) []byte { return append([]byte("joined: "), body...) })
		if err != nil {
			return err
		}
		defer stop()
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		reply, err := bus.Request(ctx, subject, []byte("host-2"))
		fmt.Println(string(reply))
		return err
	})
	fmt.Println(err)
	// Output:
	// joined: host-2
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
