// Package buckettest gives tests a real S3 server. All tests of a package share one, and each has a
// bucket of its own. It starts with the first test that asks and ends with the last one that holds
// it.
package buckettest

import (
	"context"
	"crypto/rand"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stoker-ml/stoker/local/bucket"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/s3"
)

// New returns the server's Store and a fresh, empty bucket.
func New(t testing.TB) (*s3.Store, storage.Ref) {
	t.Helper()
	store, err := s3.Open(t.Context(), Config(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	root := storage.Ref{Bucket: "test-" + strings.ToLower(rand.Text())}
	if err := store.EnsureBucket(t.Context(), root.Bucket); err != nil {
		t.Fatal(err)
	}
	return store, root
}

// Config returns how to reach the server, which runs at least until t ends.
func Config(t testing.TB) s3.Config {
	t.Helper()
	server := shared.hold(t)
	t.Cleanup(func() { shared.release(t) })
	creds := server.Credentials()
	return s3.Config{Endpoint: server.Endpoint(), AccessKey: creds.AccessKey, SecretKey: creds.SecretKey}
}

// shared is the process's one server.
var shared process

type process struct {
	mu     sync.Mutex
	users  int
	dir    string
	server *bucket.Server
}

func (p *process) hold(t testing.TB) *bucket.Server {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.users == 0 {
		p.start(t)
	}
	p.users++
	return p.server
}

func (p *process) start(t testing.TB) {
	dir, err := os.MkdirTemp("", "stoker-bucket-") // outlives the test that came first
	if err != nil {
		t.Fatal(err)
	}
	server, err := bucket.Start(context.Background(), bucket.Options{Dir: dir})
	if err != nil {
		os.RemoveAll(dir)
		t.Fatal(err)
	}
	p.dir, p.server = dir, server
}

func (p *process) release(t testing.TB) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.users--
	if p.users > 0 {
		return
	}
	if err := p.server.Close(); err != nil {
		t.Error(err)
	}
	if err := os.RemoveAll(p.dir); err != nil {
		t.Error(err)
	}
}
