package jetstream_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/local/natsserver"
)

func TestBus(t *testing.T) {
	t.Parallel()
	bustest.Run(t, func(t *testing.T) bustest.Bus {
		server := startBus(t)
		foreign := dial(t, server)
		askNoCopies(t, foreign)
		return testBus{connect(t, server, jetstream.Options{Create: true}), foreign}
	})
}

// askNoCopies fails the test if a single message is requested from any server, which may have an
// old copy of its stream, instead of from the stream's leader. With one server both are answered
// alike, so no other test of one server can distinguish them.
func askNoCopies(t *testing.T, conn *nats.Conn) {
	t.Helper()
	asked, err := conn.SubscribeSync("$JS.API.DIRECT.GET.>")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Flush(); err != nil {
			t.Error(err)
		}
		for n, _, _ := asked.Pending(); n > 0; n-- {
			request, err := asked.NextMsg(quick)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(request.Subject, "/place/") { // a consumer's position may be old
				t.Errorf("a message was asked for of any copy by %s %s", request.Subject, request.Data)
			}
		}
	})
}

// testBus is a bus that a foreign publisher can reach too.
type testBus struct {
	*jetstream.Bus
	foreign *nats.Conn
}

func (b testBus) Inject(ctx context.Context, subject string, header map[string][]string, body []byte) error {
	stream, err := js.New(b.foreign)
	if err != nil {
		return err
	}
	_, err = stream.PublishMsg(ctx, &nats.Msg{Subject: subject, Header: header, Data: body})
	return err
}

func startBus(t *testing.T) *natsserver.Server {
	t.Helper()
	server, err := natsserver.Start(t.Context(), natsserver.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return server
}

// connect opens a bus with short leases.
func connect(t *testing.T, server *natsserver.Server, opts jetstream.Options) *jetstream.Bus {
	t.Helper()
	opts.Lease = bustest.Lease
	return connectAs(t, server, opts)
}

// connectAs opens a bus with its own connection, like another process.
func connectAs(t *testing.T, server *natsserver.Server, opts jetstream.Options) *jetstream.Bus {
	t.Helper()
	opts.Logger = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	bus, err := jetstream.Connect(t.Context(), server.URL(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bus.Close() })
	return bus
}

func dial(t *testing.T, server *natsserver.Server) *nats.Conn {
	t.Helper()
	// nats.go's own handler prints
	quiet := nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})
	conn, err := nats.Connect(server.URL(), quiet, nats.MaxReconnects(-1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}
