package jetstream_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events/eventstest"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/local/bus"
)

func TestLetterbox(t *testing.T) {
	t.Parallel()
	eventstest.Run(t, func(t *testing.T) eventstest.Box {
		server := startBus(t)
		foreign := dial(t, server)
		askNoCopies(t, foreign)
		return box{connect(t, server, jetstream.Options{Create: true}), foreign}
	})
}

// askNoCopies fails the test if any single message is asked for of a server that may have an old copy of its stream, instead of the
// stream's leader. One server answers both, so that no other test of one server would tell them apart.
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
			if !strings.Contains(request.Subject, "/place/") { // a consumer's place may be old
				t.Errorf("a message was asked for of any copy by %s %s", request.Subject, request.Data)
			}
		}
	})
}

// box is a letterbox that a foreign publisher can reach too.
type box struct {
	*jetstream.Letterbox
	foreign *nats.Conn
}

func (b box) Inject(ctx context.Context, subject string, header map[string][]string, body []byte) error {
	stream, err := js.New(b.foreign)
	if err != nil {
		return err
	}
	_, err = stream.PublishMsg(ctx, &nats.Msg{Subject: subject, Header: header, Data: body})
	return err
}

func startBus(t *testing.T) *bus.Server {
	t.Helper()
	server, err := bus.Start(t.Context(), bus.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return server
}

// connect opens a letterbox with short leases.
func connect(t *testing.T, server *bus.Server, opts jetstream.Options) *jetstream.Letterbox {
	t.Helper()
	opts.Lease = eventstest.Lease
	return connectAs(t, server, opts)
}

// connectAs opens a letterbox of its own connection, as another process would.
func connectAs(t *testing.T, server *bus.Server, opts jetstream.Options) *jetstream.Letterbox {
	t.Helper()
	opts.Logger = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	letterbox, err := jetstream.Connect(t.Context(), server.URL(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = letterbox.Close() })
	return letterbox
}

func dial(t *testing.T, server *bus.Server) *nats.Conn {
	t.Helper()
	quiet := nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}) // nats.go's own prints
	conn, err := nats.Connect(server.URL(), quiet, nats.MaxReconnects(-1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}
