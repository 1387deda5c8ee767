package jetstream_test

import (
	"context"
	"errors"
	"testing"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/local/natsserver"
)

// watched returns what a watch of the joins yields until ctx ends: keys, and the error that ends
// it.
func watched(ctx context.Context, t *testing.T, bus *jetstream.Bus) (keys <-chan string, ended <-chan error) {
	t.Helper()
	joins, err := bus.KV(ctx, events.KVJoins)
	if err != nil {
		t.Fatal(err)
	}
	seen, over := make(chan string, 64), make(chan error, 1)
	go func() {
		var last error
		for entry, err := range joins.Watch(ctx) {
			if err != nil {
				last = err
				break
			}
			seen <- entry.Key
		}
		over <- last
	}()
	return seen, over
}

// A watch whose consumer the server has lost continues, or ends with an error that does not end
// long-running programs. It must not fall silent.
func TestAWatchOutlivesItsConsumerOrSaysThatItEnded(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*testing.T, *natsserver.Server, string) *natsserver.Server{
		"its consumer is deleted": func(t *testing.T, server *natsserver.Server, _ string) *natsserver.Server {
			deleteConsumers(t, server, "KV_JOINS")
			return server
		},
		"its server is restarted": restartBus,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			server, err := natsserver.Start(t.Context(), natsserver.Options{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = server.Close() })
			bus := connectAs(t, server, jetstream.Options{Create: true})
			keys, ended := watched(t.Context(), t, bus)
			if key := <-keys; key != "" {
				t.Fatalf("the first is %s, want the entry that says that these were all", key)
			}
			server = lose(t, server, dir)
			bus = connectAs(t, server, jetstream.Options{})
			joins, err := bus.KV(t.Context(), events.KVJoins)
			if err == nil {
				_, err = joins.Create(t.Context(), "penguin/run", []byte("{}"))
			}
			if err != nil {
				t.Fatal(err)
			}
			select {
			case key := <-keys:
				t.Logf("the watch goes on: %s", key)
			case err := <-ended:
				if err == nil || errors.Is(err, events.ErrClosed) {
					t.Errorf("the watch ended with %v", err)
				}
				t.Logf("the watch ended: %v", err)
			case <-time.After(8 * time.Minute):
				t.Error("the watch is silent")
			}
		})
	}
}

// restartBus replaces a server by a new one with the same data.
func restartBus(t *testing.T, server *natsserver.Server, dir string) *natsserver.Server {
	t.Helper()
	port := portOf(t, server)
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := natsserver.Start(t.Context(), natsserver.Options{Dir: dir, Port: port})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = again.Close() })
	return again
}

func deleteConsumers(t *testing.T, server *natsserver.Server, name string) {
	t.Helper()
	client, err := js.New(dial(t, server))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := client.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	deleted := 0
	names := stream.ConsumerNames(t.Context())
	for consumer := range names.Name() {
		if err := client.DeleteConsumer(t.Context(), name, consumer); err != nil {
			t.Fatal(err)
		}
		deleted++
	}
	if err := names.Err(); err != nil || deleted == 0 {
		t.Fatalf("%d consumers of %s deleted: %v", deleted, name, err)
	}
}
