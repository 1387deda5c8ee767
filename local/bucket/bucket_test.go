package bucket_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gofrs/flock"
	"github.com/stoker-ml/stoker/local/bucket"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/s3"
)

func start(t *testing.T, dir string) (*bucket.Server, *s3.Store) {
	t.Helper()
	return startWith(t, bucket.Options{Dir: dir})
}

func startWith(t *testing.T, options bucket.Options) (*bucket.Server, *s3.Store) {
	t.Helper()
	server, err := bucket.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	creds := server.Credentials()
	store, err := s3.Open(t.Context(), s3.Config{Endpoint: server.Endpoint(), AccessKey: creds.AccessKey, SecretKey: creds.SecretKey})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return server, store
}

func TestDataAndCredentialsOutliveTheServer(t *testing.T) {
	dir := t.TempDir()
	server, store := start(t, dir)
	if err := store.EnsureBucket(t.Context(), "kept"); err != nil {
		t.Fatal(err)
	}
	ref := storage.Ref{Bucket: "kept", Key: "a/b"}
	if _, err := store.Put(t.Context(), ref, strings.NewReader("hello"), 5); err != nil {
		t.Fatal(err)
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	again, store := start(t, dir)
	if again.Credentials() != server.Credentials() {
		t.Error("credentials changed")
	}
	body, _, err := store.Open(t.Context(), ref, "")
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if got, err := io.ReadAll(body); err != nil || string(got) != "hello" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestCredentialsAreForTheOwnerOnly(t *testing.T) {
	dir := t.TempDir()
	start(t, dir)
	info, err := os.Stat(filepath.Join(dir, "credentials.json"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode is %v", info.Mode())
	}
}

func TestTheWorkingDirectoryStaysAndGetsNoFiles(t *testing.T) {
	before := tree(t, ".")
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	_, store := start(t, t.TempDir())
	if err := store.EnsureBucket(t.Context(), "somewhere"); err != nil {
		t.Fatal(err)
	}
	large := bytes.Repeat([]byte("x"), 20<<20) // in parts
	if _, err := store.Put(t.Context(), storage.Ref{Bucket: "somewhere", Key: "large"}, bytes.NewReader(large), int64(len(large))); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.Getwd(); got != wd {
		t.Errorf("working directory is %s, was %s", got, wd)
	}
	if after := tree(t, "."); after != before {
		t.Errorf("working directory holds\n%s\nheld\n%s", after, before)
	}
}

func tree(t *testing.T, dir string) string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		names = append(names, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(names, "\n")
}

func TestOneServerForAFolder(t *testing.T) {
	dir := t.TempDir()
	start(t, dir)
	if _, err := bucket.Start(t.Context(), bucket.Options{Dir: dir}); !errors.Is(err, bucket.ErrInUse) {
		t.Errorf("a second server in %s: %v", dir, err)
	}
	start(t, t.TempDir()) // in the same process
}

func TestAFolderThatAnotherProcessServesIsRefused(t *testing.T) {
	dir := t.TempDir()
	other := flock.New(filepath.Join(dir, "lock"))
	if ok, err := other.TryLock(); err != nil || !ok {
		t.Fatal(ok, err)
	}
	if _, err := bucket.Start(t.Context(), bucket.Options{Dir: dir}); !errors.Is(err, bucket.ErrInUse) {
		t.Error(err)
	}
	if err := other.Unlock(); err != nil {
		t.Fatal(err)
	}
	start(t, dir)
}

func TestAPortThatIsTakenIsAnError(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	dir := t.TempDir()
	if _, err := bucket.Start(t.Context(), bucket.Options{Dir: dir, Port: port}); !errors.Is(err, syscall.EADDRINUSE) {
		t.Error(err)
	}
	start(t, dir) // the folder is free again
}

// BenchmarkStart measures the start, until the first answer, and the stop.
func BenchmarkStart(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		server, err := bucket.Start(b.Context(), bucket.Options{Dir: dir})
		if err != nil {
			b.Fatal(err)
		}
		if err := server.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
