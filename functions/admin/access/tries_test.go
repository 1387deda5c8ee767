package access_test

import (
	"context"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
)

// The functions below are single operations on a bus.

type deed = func(context.Context, *jetstream.Bus) error

func publishing(name, subject string, event events.Event) try {
	return try{name, subject, func(ctx context.Context, bus *jetstream.Bus) error {
		_, err := bus.Publish(ctx, event)
		return err
	}}
}

var digest = "sha256:" + strings.Repeat("ab", 32)

var model = events.Event{
	ID: "m", Source: "/test", Pipeline: "penguin", Run: "monday",
	Data: &events.ModelTrained{Model: events.Model{URI: "s3://models/acme/m", Digest: digest, Formats: []string{"Format-Serving"}}, Execution: digest, Module: "m", Inputs: []events.Artifact{}},
}

// job returns a job of the pipeline.
func job(function events.Function) events.Job {
	return events.Job{
		ID: strings.Repeat("ab", 32), Function: function, Class: "cpu", Pipeline: "penguin", Revision: 1, Run: "monday", Spec: []byte(`{}`),
		Causes: []events.Cause{{Kind: events.KindExamplesReady, Source: "/test", ID: "1", Sequence: 1}}, Created: time.Unix(1, 0),
	}
}

func offer(function events.Function) deed {
	return func(ctx context.Context, bus *jetstream.Bus) error { return bus.Enqueue(ctx, job(function)) }
}

func take(ctx context.Context, bus *jetstream.Bus) error {
	_, err := bus.Claim(ctx, events.FunctionTrain, []string{"cpu"}, time.Second)
	return err
}

func cancel(ctx context.Context, bus *jetstream.Bus) error {
	return bus.Cancel(ctx, job(events.FunctionTrain).ID)
}

func follow(ctx context.Context, bus *jetstream.Bus) error {
	_, err := bus.Follow(ctx, "dispatch", time.Second)
	return err
}

func listen(name string) deed {
	return func(ctx context.Context, bus *jetstream.Bus) error {
		_, err := bus.Listen(ctx, name, nil, time.Second)
		return err
	}
}

func readEvents(ctx context.Context, bus *jetstream.Bus) error {
	for _, err := range bus.Read(ctx, events.Query{}) {
		return err
	}
	return nil
}

func open(bucket string) deed {
	return func(ctx context.Context, bus *jetstream.Bus) error {
		_, err := bus.KV(ctx, bucket)
		return err
	}
}

// change writes to a bucket that can be read.
func change(bucket string) deed {
	return func(ctx context.Context, bus *jetstream.Bus) error {
		opened, err := bus.KV(ctx, bucket)
		if err == nil {
			_, err = opened.Create(ctx, "penguin", []byte("{}"))
		}
		return err
	}
}

func study(ctx context.Context, bus *jetstream.Bus) error {
	_, err := bus.AppendStudy(ctx, events.Study{Pipeline: "penguin", ID: strings.Repeat("ab", 32)}, []byte("{}"), 0)
	return err
}

func deadLetter(ctx context.Context, bus *jetstream.Bus) error {
	return bus.DeadLetter(ctx, events.DeadLetter{Message: events.Message{Stream: events.StreamEvents, Sequence: 1}})
}

func drop(ctx context.Context, bus *jetstream.Bus) error { return bus.DeleteDeadLetter(ctx, 1) }

func notice(ctx context.Context, bus *jetstream.Bus) error {
	return bus.Notify(ctx, "me", []byte("{}"))
}

// watch waits for the first progress, which is never published here.
func watch(ctx context.Context, bus *jetstream.Bus) error {
	ctx, cancel := context.WithTimeout(ctx, 2*quick)
	defer cancel()
	for _, err := range bus.Watch(ctx, "", "") {
		return err
	}
	return nil
}
