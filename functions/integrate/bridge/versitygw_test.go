package bridge_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"

	"github.com/stoker-ml/stoker/functions/integrate/bridge"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/s3"
)

// TestMain also runs versitygw, as others run it, in a separate process: it changes the working
// directory.
func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] == "versitygw" {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		if err := serve(ctx, os.Args[2], os.Args[3], os.Args[4]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

const versityKey, versitySecret = "versity-key", "versity-secret-of-this-test"

// serve runs versitygw on a folder, with its own notifications to NATS.
func serve(ctx context.Context, dir, address, natsURL string) error {
	data, attributes := filepath.Join(dir, "data"), filepath.Join(dir, "attributes")
	for _, folder := range []string{data, attributes} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			return err
		}
	}
	sidecar, err := meta.NewSideCar(attributes)
	if err != nil {
		return err
	}
	be, err := posix.New(data, sidecar, posix.PosixOpts{SideCarDir: attributes, CopyObjectThreshold: 5 << 30})
	if err != nil {
		return err
	}
	return embedgw.RunVersityGW(ctx, be, &embedgw.Config{
		RootUserAccess: versityKey, RootUserSecret: versitySecret, Ports: []string{address}, HealthPath: "/healthz",
		MaxConnections: 100, MaxRequests: 100, MultipartMaxParts: 10000, Quiet: true, KeepAlive: true,
		NatsURL: natsURL, NatsTopic: "buckets.versitygw",
	})
}

// startVersity returns the store of a versitygw that notifies the bus at natsURL of every change.
func startVersity(t *testing.T, natsURL string) *s3.Store {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	server := exec.CommandContext(t.Context(), os.Args[0], "versitygw", t.TempDir(), address, natsURL)
	server.Cancel = func() error { return server.Process.Signal(syscall.SIGTERM) }
	server.WaitDelay = 10 * time.Second
	server.Stderr = t.Output()
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Wait() }) // t.Context has ended by then
	for !healthy(t, "http://"+address+"/healthz") {
		time.Sleep(10 * time.Millisecond)
	}
	store, err := s3.Open(t.Context(), s3.Config{Endpoint: "http://" + address, AccessKey: versityKey, SecretKey: versitySecret})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

func healthy(t *testing.T, url string) bool {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

func TestVersitygwAnnouncesMarkersAndEachIsOneEvent(t *testing.T) {
	t.Parallel()
	bus, address := startBus(t)
	store := startVersity(t, address.String())
	if err := store.EnsureBucket(t.Context(), "data"); err != nil {
		t.Fatal(err)
	}
	const folder = "penguin/run 1+2 %41 ü"
	for _, name := range []string{"/Split-train/a", "/_SUCCESS"} {
		ref := storage.Ref{Bucket: "data", Key: folder + name}
		if _, err := store.Put(t.Context(), ref, strings.NewReader("{}"), 2); err != nil {
			t.Fatal(err)
		}
	}
	b := open(t, bus, store, bridge.Options{Pipeline: "penguin"})
	handle(t, b, 3) // its test event, and two objects
	again(t, bus)
	handle(t, b, 1)
	evs := eventsOf(t, bus)
	if len(evs) != 1 || evs[0].Run != "run 1+2 %41 ü" || evs[0].Pipeline != "penguin" {
		t.Errorf("got %+v, want one event", evs)
	}
}
