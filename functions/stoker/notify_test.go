package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/local/natsserver"
)

// The command follows failures on its bus, posts them as text for a chat room, and exits with
// success when it is interrupted.
func TestNotifyPostsToAChatRoom(t *testing.T) {
	t.Parallel()
	said := make(chan string, 1)
	chat := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		said <- string(body)
	}))
	t.Cleanup(chat.Close)
	address := filepath.Join(t.TempDir(), "address")
	if err := os.WriteFile(address, []byte(chat.URL+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
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
	// It exists from here on.
	if _, err := bus.ListenDead(t.Context(), "notify-default", 0); err == nil {
		t.Fatal("a letter that nobody dead-lettered")
	}

	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	var stdout, stderr bytes.Buffer
	go func() {
		ended <- execute(ctx, []string{"stoker", "notify", "--nats", server.URL(), "--url-file", address, "--format", "text"}, &stdout, &stderr)
	}()
	deadLetter := events.DeadLetter{
		Message: events.Message{Stream: "EVENTS", Sequence: 7, Subject: "events.examples-ready.penguin.monday"},
		Reason:  events.DeadReason{Kind: events.FailureInput, Message: "no such split"},
	}
	if err := bus.DeadLetter(t.Context(), deadLetter); err != nil {
		t.Fatal(err)
	}
	select {
	case text := <-said:
		if text != `{"text":"dead: pipeline penguin, run monday (input): no such split (stoker dead show 1)"}` {
			t.Errorf("said %s", text)
		}
	case <-time.After(8 * time.Minute):
		t.Fatalf("nothing was said: %s", stderr.String())
	}
	interrupt()
	if code := <-ended; code != exit.OK || stdout.Len() > 0 || !strings.Contains(stderr.String(), "stoker notify: bus ") {
		t.Errorf("exit status %d, output %q, %q", code, stdout.String(), stderr.String())
	}
}
