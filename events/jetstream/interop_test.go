package jetstream_test

import (
	"context"
	"testing"

	sdk "github.com/cloudevents/sdk-go/protocol/nats_jetstream/v2"
	"github.com/cloudevents/sdk-go/v2/binding"
	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
)

func plainEvent() events.Event {
	return events.Event{
		ID: "gen-1", Source: "/tfx/example-gen", Pipeline: "penguin", Run: "run-1", Causation: "gen-0",
		Data: &events.ExamplesReady{Examples: []events.Examples{{URI: "s3://tfx/penguin/1"}}},
	}
}

// Publishers in Go use the CloudEvents SDK's NATS protocol.
func TestEventsThatTheSDKSendsAreRead(t *testing.T) {
	t.Parallel()
	for mode, force := range map[string]func(context.Context) context.Context{"binary": binding.WithForceBinary, "structured": binding.WithForceStructured} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			server := startBus(t)
			bus := connect(t, server, jetstream.Options{Create: true})
			want := plainEvent()
			sender, err := sdk.NewSenderFromConn(dial(t, server), "EVENTS", events.EventSubject(want), nil)
			if err != nil {
				t.Fatal(err)
			}
			cloud, err := want.CloudEvent()
			if err != nil {
				t.Fatal(err)
			}
			if err := sender.Send(force(t.Context()), binding.ToMessage(&cloud)); err != nil {
				t.Fatal(err)
			}
			for recorded, err := range bus.Read(t.Context(), events.Query{}) {
				if err != nil || recorded.Err != nil {
					t.Fatal(err, recorded.Err)
				}
				if diff := cmp.Diff(want, recorded.Event); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				return
			}
			t.Error("nothing came")
		})
	}
}

func TestTheSDKReadsTheEventsWePublish(t *testing.T) {
	t.Parallel()
	server := startBus(t)
	want := plainEvent()
	if _, err := connect(t, server, jetstream.Options{Create: true}).Publish(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	raw := rawMessage(t, dial(t, server), "EVENTS", 1)
	cloud, err := binding.ToEvent(t.Context(), sdk.NewMessage(&nats.Msg{Header: raw.Header, Data: raw.Data}))
	if err != nil {
		t.Fatal(err)
	}
	got, err := events.FromCloudEvent(*cloud)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func rawMessage(t *testing.T, conn *nats.Conn, stream string, sequence uint64) *js.RawStreamMsg {
	t.Helper()
	client, err := js.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	found, err := client.Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	message, err := found.GetMsg(t.Context(), sequence)
	if err != nil {
		t.Fatal(err)
	}
	return message
}
