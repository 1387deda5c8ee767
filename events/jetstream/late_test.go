package jetstream_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
)

// A worker whose connection breaks between the proof of its lease and its event has failed to
// publish that event: it is not published after the reconnect, because by then another worker may
// have the job.
func TestAnEventThatFailedIsNotPublishedLater(t *testing.T) {
	t.Parallel()
	server := startBus(t)
	other := connect(t, server, jetstream.Options{Create: true})
	l := dialThrough(t, server.URL())
	cut, err := jetstream.Connect(t.Context(), l.url, jetstream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer cut.Close()
	offer(t, other)
	claim := take(t, cut, time.Minute)
	job, err := claim.Job()
	if err != nil {
		t.Fatal(err)
	}
	err = claim.KeepAlive(t.Context(), func(ctx context.Context) error {
		l.close(true)
		time.Sleep(200 * time.Millisecond) // so that the client has usually noticed
		if err := claim.Prove(); err != nil {
			t.Errorf("the lease is lost at once: %v", err)
		}
		_, err := cut.Publish(ctx, events.NewJobFailed(job, claim.Attempt(), &events.Failure{Kind: events.FailureModule, Err: errors.New("bad")}))
		return err
	})
	if !errors.Is(err, events.ErrUnavailable) && !errors.Is(err, events.ErrLeaseLost) {
		t.Errorf("publishing without a connection: %v", err)
	}
	next := take(t, other, 2*time.Minute)
	if err := next.Ack(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.close(false)
	later := events.Event{ID: "x", Source: "/up", Pipeline: "penguin", Run: "later", Data: &events.HParamsReady{Hyperparameters: "s3://bkt/h"}}
	// After everything that the connection may have kept.
	receipt, err := cut.Publish(t.Context(), later)
	if err != nil {
		t.Fatal(err)
	}
	for recorded, err := range other.Read(t.Context(), events.Query{}) {
		if err != nil || recorded.Message.Sequence != receipt.Sequence {
			t.Errorf("published after another worker was done: %s, %v", recorded.Message.Subject, err)
		}
	}
}

// A lost connection keeps no message for later: publishing fails, and the message is not sent after
// the reconnect.
func TestAConnectionThatIsLostKeepsNoMessage(t *testing.T) {
	t.Parallel()
	server := startBus(t)
	l := dialThrough(t, server.URL())
	cut, err := jetstream.Connect(t.Context(), l.url, jetstream.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer cut.Close()
	other := dial(t, server)
	received, err := other.SubscribeSync("kept")
	if err == nil {
		err = other.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	l.close(true)
	untilConnected(t, cut, false)
	if err := cut.Connection().Publish("kept", []byte("while the connection is lost")); !errors.Is(err, nats.ErrReconnectBufExceeded) {
		t.Errorf("publishing without a connection: %v", err)
	}
	l.close(false)
	untilConnected(t, cut, true)
	if err := cut.Connection().Publish("kept", []byte("later")); err != nil {
		t.Fatal(err)
	}
	message, err := received.NextMsgWithContext(t.Context())
	if err != nil || string(message.Data) != "later" {
		t.Errorf("received first: %s, %v", message.Data, err)
	}
}

func untilConnected(t *testing.T, bus *jetstream.Bus, connected bool) {
	t.Helper()
	err := untilDone(t.Context(), func() error {
		if bus.Connection().IsConnected() != connected {
			time.Sleep(10 * time.Millisecond)
			return errors.New("it is not so yet")
		}
		return nil
	})
	if err != nil {
		t.Fatalf("connected: %t: %v", connected, err)
	}
}
