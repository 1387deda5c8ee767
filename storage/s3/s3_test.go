package s3_test

import (
	"net"
	"testing"

	"github.com/stoker-ml/stoker/local/bucket/buckettest"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/s3"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

func TestEmbeddedServer(t *testing.T) {
	t.Parallel()
	cfg := buckettest.Config(t) // keeps the server running from the first to the last test
	storagetest.Run(t, func(t *testing.T) storagetest.Subject {
		_, root := buckettest.New(t)
		return subject(t, cfg, root)
	})
}

// subject has the server that cfg names, and two ways to fail to reach it.
func subject(t *testing.T, cfg s3.Config, root storage.Ref) storagetest.Subject {
	t.Helper()
	stranger := cfg
	stranger.SecretKey = "not-the-secret-key"
	away := cfg
	away.Endpoint = "http://" + closedPort(t)
	away.MaxTries = 2
	return storagetest.Subject{Store: open(t, cfg), Root: root, Denied: open(t, stranger), Away: open(t, away)}
}

func open(t *testing.T, cfg s3.Config) *s3.Store {
	t.Helper()
	store, err := s3.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// closedPort returns an address on which nothing listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
