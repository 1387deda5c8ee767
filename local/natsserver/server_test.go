package natsserver_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/local/natsserver"
)

func start(t *testing.T, opts natsserver.Options) *natsserver.Server {
	t.Helper()
	if opts.Dir == "" {
		opts.Dir = t.TempDir()
	}
	server, err := natsserver.Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return server
}

func TestAnonymousAndWrongPasswordsAreRefused(t *testing.T) {
	t.Parallel()
	server := start(t, natsserver.Options{})
	for name, options := range map[string][]nats.Option{
		"anonymous":      nil,
		"wrong password": {nats.UserInfo("stoker", "wrong")},
		"wrong user":     {nats.UserInfo("root", password(t, server))},
	} {
		if conn, err := nats.Connect(server.Address(), options...); !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("%s: got connection %v and error %v, want an authorization violation", name, conn, err)
		}
	}
	conn, err := nats.Connect(server.URL())
	if err != nil {
		t.Fatalf("with the installation's password: %v", err)
	}
	conn.Close()
}

func TestPasswordIsMadeOnceAndForTheOwnerOnly(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	server := start(t, natsserver.Options{Dir: dir})
	first := password(t, server)
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	if first != password(t, start(t, natsserver.Options{Dir: dir})) {
		t.Error("a second start made another password")
	}
	if first == password(t, start(t, natsserver.Options{Dir: other})) {
		t.Error("two installations share a password")
	}
	info, err := os.Stat(filepath.Join(dir, "password"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("password file: %v, %v, want mode 0600", info, err)
	}
}

func TestCutOffPasswordFileIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "password"), []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := natsserver.Start(t.Context(), natsserver.Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "password") {
		t.Errorf("got %v, want an error about the password", err)
	}
}

func TestWhatWasStoredIsThereAfterARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := start(t, natsserver.Options{Dir: dir, SyncAlways: true})
	stream := func(s *natsserver.Server) jetstream.Stream {
		conn, err := nats.Connect(s.URL())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(conn.Close)
		js, err := jetstream.New(conn)
		if err != nil {
			t.Fatal(err)
		}
		stream, err := js.CreateOrUpdateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}})
		if err != nil {
			t.Fatal(err)
		}
		if s == first {
			if _, err := js.Publish(t.Context(), "s", []byte("kept")); err != nil {
				t.Fatal(err)
			}
		}
		return stream
	}
	stream(first)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	message, err := stream(start(t, natsserver.Options{Dir: dir})).GetMsg(t.Context(), 1)
	if err != nil || string(message.Data) != "kept" {
		t.Errorf("after the restart: %v, %v", message, err)
	}
}

func TestListensOnLoopbackOnly(t *testing.T) {
	t.Parallel()
	server := start(t, natsserver.Options{Monitor: true})
	address, err := url.Parse(server.Address())
	if err != nil {
		t.Fatal(err)
	}
	for _, listening := range []string{address.Host, server.MonitorAddress()} {
		host, _, err := net.SplitHostPort(listening)
		if err != nil || !net.ParseIP(host).IsLoopback() {
			t.Errorf("listens on %s (%v), want loopback", listening, err)
		}
	}
	response, err := http.Get("http://" + server.MonitorAddress() + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("healthz: %s", response.Status)
	}
}

func TestStartSaysWhyItFailed(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port
	_, err = natsserver.Start(t.Context(), natsserver.Options{Dir: t.TempDir(), Port: port})
	if err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("port taken: got %v", err)
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	cancel(stopped)
	if server, err := natsserver.Start(ctx, natsserver.Options{Dir: t.TempDir()}); err != nil && !errors.Is(err, stopped) {
		t.Errorf("got %v, want the cause", err)
	} else if err == nil {
		_ = server.Close() // it was quicker than the context: that's allowed
	}
}

func TestSpeaksToTheLoggerOnlyAndQuietlyWhenAllIsWell(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelWarn}))
	server := start(t, natsserver.Options{Logger: logger})
	if err := errors.Join(server.Close(), server.Close()); err != nil {
		t.Fatal(err)
	}
	if text.Len() > 0 {
		t.Errorf("warned without need: %s", text.String())
	}
}

func password(t *testing.T, server *natsserver.Server) string {
	t.Helper()
	address, err := url.Parse(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	password, _ := address.User.Password()
	return password
}

// If the disk is full, or gone, a stream accepts no more messages until the server is restarted.
func TestAServerThatCanNotWriteEndsAndSaysWhy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := start(t, natsserver.Options{Dir: dir})
	conn, err := nats.Connect(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "LOG", Subjects: []string{"log"}, MaxBytes: 64 << 10, Discard: jetstream.DiscardNew}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), "log", []byte("first")); err != nil {
		t.Fatal(err)
	}
	if err := server.Err(); err != nil {
		t.Fatal(err)
	}
	blocks := filepath.Join(dir, "jetstream", "jetstream", "$G", "streams", "LOG", "msgs")
	// The next block can't be written.
	if err := errors.Join(os.RemoveAll(blocks), os.WriteFile(blocks, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for range 60 {
		if err := conn.Publish("log", make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-server.Done():
	case <-time.After(8 * time.Minute):
		t.Fatal("it goes on")
	}
	if err := server.Err(); err == nil || !strings.Contains(err.Error(), "LOG' write error") {
		t.Errorf("it ended because of %v", err)
	}
}
