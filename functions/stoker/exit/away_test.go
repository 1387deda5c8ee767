package exit_test

import (
	"bufio"
	"context"
	"io"
	"iter"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/local/natsserver"
)

// mute is a proxy for a NATS server whose connections work, but none of whose messages reach the
// client: JetStream without quorum.
type mute struct {
	url    string
	silent atomic.Bool
}

func standBefore(t *testing.T, server string) *mute {
	t.Helper()
	at, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	m, upstream := &mute{}, at.Host
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go m.forward(client, upstream)
		}
	}()
	at.Host = listener.Addr().String()
	m.url = at.String()
	return m
}

func (m *mute) forward(client net.Conn, server string) {
	defer client.Close()
	upstream, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer upstream.Close()
	go func() { _, _ = io.Copy(upstream, client); _ = upstream.Close() }()
	for from := bufio.NewReader(upstream); ; {
		frame, message, err := frameOf(from)
		if err != nil {
			return
		}
		if message && m.silent.Load() {
			continue
		}
		if _, err := client.Write(frame); err != nil {
			return
		}
	}
}

// frameOf reads the next protocol message of a server: a line, and the payload if there is one.
func frameOf(from *bufio.Reader) (frame []byte, message bool, err error) {
	line, err := from.ReadString('\n')
	if err != nil {
		return nil, false, err
	}
	if !strings.HasPrefix(line, "MSG ") && !strings.HasPrefix(line, "HMSG ") {
		return []byte(line), false, nil
	}
	words := strings.Fields(line)
	size, err := strconv.Atoi(words[len(words)-1])
	if err != nil {
		return nil, false, err
	}
	payload := make([]byte, size+len("\r\n"))
	_, err = io.ReadFull(from, payload)
	return append([]byte(line), payload...), true, err
}

// asked are the requests of commands to a bus.
var asked = map[string]func(context.Context, *jetstream.Bus) error{
	"publish": func(ctx context.Context, bus *jetstream.Bus) error {
		_, err := bus.Publish(ctx, events.Event{ID: "1", Source: "/test", Pipeline: "penguin", Run: "monday",
			Data: &events.TransformReady{TransformGraph: "s3://bkt/g"}})
		return err
	},
	"read the log": func(ctx context.Context, bus *jetstream.Bus) error {
		return failed(bus.Read(ctx, events.Query{}))
	},
	"read a run": func(ctx context.Context, bus *jetstream.Bus) error {
		return failed(bus.Read(ctx, events.Query{Pipeline: "penguin", Run: "monday"}))
	},
	"list dead letters": func(ctx context.Context, bus *jetstream.Bus) error { return failed(bus.DeadLetters(ctx)) },
	"find a job": func(ctx context.Context, bus *jetstream.Bus) error {
		_, err := bus.Queued(ctx, "job-1")
		return err
	},
	"cancel a job": func(ctx context.Context, bus *jetstream.Bus) error { return bus.Cancel(ctx, "job-1") },
	"open a KV bucket": func(ctx context.Context, bus *jetstream.Bus) error {
		_, err := bus.KV(ctx, events.KVPipelines)
		return err
	},
}

// inKV are the requests of commands to a KV bucket that was opened before.
var inKV = map[string]func(context.Context, events.KV) error{
	"get": func(ctx context.Context, r events.KV) error {
		_, err := r.Get(ctx, "penguin")
		return err
	},
	"create": func(ctx context.Context, r events.KV) error {
		_, err := r.Create(ctx, "penguin", []byte("{}"))
		return err
	},
	"update": func(ctx context.Context, r events.KV) error {
		_, err := r.Update(ctx, "penguin", []byte("{}"), 1)
		return err
	},
	"delete": func(ctx context.Context, r events.KV) error { return r.Delete(ctx, "penguin", 1) },
	"list":   func(ctx context.Context, r events.KV) error { return failed(r.All(ctx)) },
	"sync":   func(ctx context.Context, r events.KV) error { return r.Sync(ctx) },
}

func failed[T any](all iter.Seq2[T, error]) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestACommandWhoseBusDoesNotAnswerEndsWithAway(t *testing.T) {
	t.Parallel()
	server, err := natsserver.Start(t.Context(), natsserver.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	line := standBefore(t, server.URL())
	bus, err := jetstream.Connect(t.Context(), line.url, jetstream.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bus.Close() })
	pipelines, err := bus.KV(t.Context(), events.KVPipelines)
	if err != nil {
		t.Fatal(err)
	}
	line.silent.Store(true)
	var waiting sync.WaitGroup // each takes some seconds, concurrently
	for name, ask := range asked {
		waiting.Go(func() { wantAway(t, name, ask(t.Context(), bus)) })
	}
	for name, ask := range inKV {
		waiting.Go(func() { wantAway(t, name+" in a KV bucket", ask(t.Context(), pipelines)) })
	}
	waiting.Wait()
}

func wantAway(t *testing.T, name string, err error) {
	t.Helper()
	if err == nil || exit.Code(err) != exit.Away {
		t.Errorf("%s: %v: exit status %d, want %d", name, err, exit.Code(err), exit.Away)
	}
}
