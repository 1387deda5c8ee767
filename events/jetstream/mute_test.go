package jetstream_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	upstream "github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
)

// A call does not wait for an answer that was lost with its server as long as the caller would
// wait.
func TestAPublishWithoutAnAnswerFails(t *testing.T) {
	t.Parallel()
	server := startBus(t)
	bus := connect(t, server, jetstream.Options{Create: true})
	conn, err := nats.Connect(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := upstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteStream(t.Context(), events.StreamEvents); err != nil {
		t.Fatal(err)
	}
	// A subscriber that does not answer.
	if _, err := conn.Subscribe("events.>", func(*nats.Msg) {}); err != nil {
		t.Fatal(err)
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	if _, err := bus.Publish(ctx, plainEvent()); err == nil || ctx.Err() != nil {
		t.Errorf("%v; the caller's time is over: %v", err, ctx.Err())
	}
}
