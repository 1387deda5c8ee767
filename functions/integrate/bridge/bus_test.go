package bridge_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/integrate/bridge"
	"github.com/stoker-ml/stoker/local/natsserver"
)

// patience is how long a real server may take to send a notification.
const patience = 8 * time.Minute

// startBus returns a bus on a real NATS server, and the server's address with its credentials.
func startBus(t *testing.T) (*jetstream.Bus, *url.URL) {
	t.Helper()
	server, err := natsserver.Start(t.Context(), natsserver.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	bus, err := jetstream.Connect(t.Context(), server.URL(), jetstream.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bus.Close() })
	address, err := url.Parse(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	return bus, address
}

// handle makes a bridge handle this many notifications.
func handle(t *testing.T, b *bridge.Bridge, count int) {
	t.Helper()
	for i := range count {
		if err := b.Next(t.Context(), patience); err != nil {
			t.Fatalf("notification %d of %d: %v", i+1, count, err)
		}
	}
}

// again delivers the first notification of a marker a second time, as another message.
func again(t *testing.T, bus *jetstream.Bus) {
	t.Helper()
	for {
		delivery, err := bus.FollowBuckets(t.Context(), "again", patience)
		if err != nil {
			t.Fatal(err)
		}
		if body := delivery.Message().Body; strings.Contains(string(body), bridge.DefaultMarker) {
			t.Logf("%s", body)
			if err := bus.Notify(t.Context(), "again", body); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
}
