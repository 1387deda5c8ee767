package s3_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
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

	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/s3"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

// TestMain also runs versitygw, as others run it, in a separate process: it changes the working
// directory.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "versitygw" {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		if err := serveVersity(ctx, os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

const versityKey, versitySecret = "versity-key", "versity-secret-of-this-test"

func serveVersity(ctx context.Context, dir, address string) error {
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
	be, err := posix.New(data, sidecar, posix.PosixOpts{SideCarDir: attributes, CopyObjectThreshold: 5 << 30, ForceNoObjLockFile: true})
	if err != nil {
		return err
	}
	return embedgw.RunVersityGW(ctx, be, &embedgw.Config{
		RootUserAccess: versityKey, RootUserSecret: versitySecret, Ports: []string{address}, HealthPath: "/healthz",
		MaxConnections: 4096, MaxRequests: 4096, MultipartMaxParts: 10000, Quiet: true, KeepAlive: true,
	})
}

// The suite of stores, on a third-party server.
func TestVersitygw(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a server of others, in a process of its own")
	}
	cfg := startVersity(t)
	store := open(t, cfg)
	t.Run("suite", func(t *testing.T) { // its tests are parallel: the server outlives them
		storagetest.Run(t, func(t *testing.T) storagetest.Subject {
			root := storage.Ref{Bucket: "test-" + strings.ToLower(rand.Text())}
			if err := store.EnsureBucket(t.Context(), root.Bucket); err != nil {
				t.Fatal(err)
			}
			return subject(t, cfg, root)
		})
	})
}

func startVersity(t *testing.T) s3.Config {
	t.Helper()
	address := closedPort(t)
	server := exec.CommandContext(t.Context(), os.Args[0], "versitygw", t.TempDir(), address)
	server.Cancel = func() error { return server.Process.Signal(syscall.SIGTERM) }
	server.WaitDelay = 10 * time.Second
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Wait() }) // t.Context has ended by then
	for tries := 0; ; tries++ {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			conn.Close()
			break
		}
		if tries == 1000 {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return s3.Config{Endpoint: "http://" + address, AccessKey: versityKey, SecretKey: versitySecret}
}
