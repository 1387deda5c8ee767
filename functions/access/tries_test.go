package access_test

import (
	"context"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
)

// What follows are single deeds, done by whoever has the letterbox.

type deed = func(context.Context, *jetstream.Letterbox) error

func tell(name, subject string, fact events.Fact) try {
	return try{name, subject, func(ctx context.Context, box *jetstream.Letterbox) error {
		_, err := box.Publish(ctx, fact)
		return err
	}}
}

var digest = "sha256:" + strings.Repeat("ab", 32)

var model = events.Fact{
	ID: "m", Source: "/test", Pipeline: "penguin", Run: "monday",
	Data: &events.ModelTrained{Model: events.Model{URI: "s3://models/acme/m", Digest: digest, Formats: []string{"Format-Serving"}}, Execution: digest, Module: "m", Inputs: []events.Artifact{}},
}

// job is one of the pipeline's.
func job(function events.Function) events.Job {
	return events.Job{
		ID: strings.Repeat("ab", 32), Function: function, Class: "cpu", Pipeline: "penguin", Revision: 1, Run: "monday", Spec: []byte(`{}`),
		Causes: []events.Cause{{Kind: events.KindExamplesReady, Source: "/test", ID: "1", Sequence: 1}}, Created: time.Unix(1, 0),
	}
}

func offer(function events.Function) deed {
	return func(ctx context.Context, box *jetstream.Letterbox) error { return box.Offer(ctx, job(function)) }
}

func take(ctx context.Context, box *jetstream.Letterbox) error {
	_, err := box.Take(ctx, events.FunctionTrain, []string{"cpu"}, time.Second)
	return err
}

func cancel(ctx context.Context, box *jetstream.Letterbox) error {
	return box.Cancel(ctx, job(events.FunctionTrain).ID)
}

func follow(ctx context.Context, box *jetstream.Letterbox) error {
	_, err := box.Follow(ctx, "dispatch", time.Second)
	return err
}

func listen(name string) deed {
	return func(ctx context.Context, box *jetstream.Letterbox) error {
		_, err := box.Listen(ctx, name, nil, time.Second)
		return err
	}
}

func readFacts(ctx context.Context, box *jetstream.Letterbox) error {
	for _, err := range box.Read(ctx, events.Query{}) {
		return err
	}
	return nil
}

func open(register string) deed {
	return func(ctx context.Context, box *jetstream.Letterbox) error {
		_, err := box.Register(ctx, register)
		return err
	}
}

// change writes to a register that can be read.
func change(register string) deed {
	return func(ctx context.Context, box *jetstream.Letterbox) error {
		opened, err := box.Register(ctx, register)
		if err == nil {
			_, err = opened.Create(ctx, "penguin", []byte("{}"))
		}
		return err
	}
}

func study(ctx context.Context, box *jetstream.Letterbox) error {
	_, err := box.AppendStudy(ctx, events.Study{Pipeline: "penguin", ID: strings.Repeat("ab", 32)}, []byte("{}"), 0)
	return err
}

func bury(ctx context.Context, box *jetstream.Letterbox) error {
	return box.Bury(ctx, events.DeadLetter{Message: events.Message{Stream: events.StreamFacts, Sequence: 1}})
}

func drop(ctx context.Context, box *jetstream.Letterbox) error { return box.Drop(ctx, 1) }

func notice(ctx context.Context, box *jetstream.Letterbox) error {
	return box.Notify(ctx, "me", []byte("{}"))
}

// watch waits for the first word, which nobody says here.
func watch(ctx context.Context, box *jetstream.Letterbox) error {
	ctx, cancel := context.WithTimeout(ctx, 2*quick)
	defer cancel()
	for _, err := range box.Watch(ctx, "", "") {
		return err
	}
	return nil
}
