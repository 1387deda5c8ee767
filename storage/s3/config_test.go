package s3

import (
	"context"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/storage"
)

func TestBadConfigIsRefused(t *testing.T) {
	t.Parallel()
	for _, cfg := range []Config{
		{Endpoint: "127.0.0.1:9000", AccessKey: "a", SecretKey: "s"},
		{Endpoint: "host:9000", AccessKey: "a", SecretKey: "s"},
		{Endpoint: "ftp://host", AccessKey: "a", SecretKey: "s"},
		{Endpoint: "http://host/bucket", AccessKey: "a", SecretKey: "s"},
		{Endpoint: "http://a:secret@host", AccessKey: "a", SecretKey: "s"},
		{Endpoint: "https://host?x=secret", AccessKey: "a", SecretKey: "s"},
		{Endpoint: "http://host", AccessKey: "a"},
		{Endpoint: "http://host", SecretKey: "s"},
		{AccessKey: "a", SecretKey: "s"},
		{Endpoint: "https://host", AccessKey: "a", SecretKey: "s", RootCA: "nowhere.pem"},
		{Endpoint: "https://host", AccessKey: "a", SecretKey: "s", RootCA: "config_test.go"},
	} {
		_, err := Open(t.Context(), cfg)
		if err == nil || strings.Contains(err.Error(), "secret@") {
			t.Errorf("%q: %v", cfg.Endpoint, err)
		}
	}
}

// A self-signed certificate of a server is trusted only by a client that names it.
func TestAStoreWithItsOwnCertificate(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	own := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(own, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for ca, want := range map[string]error{own: storage.ErrNotFound, "": nil} {
		store, err := Open(t.Context(), Config{Endpoint: server.URL, AccessKey: "a", SecretKey: "s", RootCA: ca, MaxTries: 1})
		if err != nil {
			t.Fatal(err)
		}
		_, err = store.Stat(t.Context(), storage.Ref{Bucket: "bucket", Key: "key"})
		if err == nil || want != nil && !errors.Is(err, want) || want == nil && !strings.Contains(err.Error(), "certificate") {
			t.Errorf("trusting %q: %v", ca, err)
		}
	}
}

// Temporary keys are requested once, and again when they are about to expire.
func TestLentKeys(t *testing.T) {
	t.Parallel()
	var asked int
	var signed []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		signed = append(signed, r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(server.Close)
	expires := time.Now().Add(time.Hour)
	lend := func(context.Context) (storage.Credentials, error) {
		asked++
		keys := storage.Credentials{AccessKey: "first", SecretKey: "s", Expires: time.Now().Add(lentFor / 2)}
		if asked > 1 {
			keys.AccessKey, keys.Expires = "second", expires
		}
		return keys, nil
	}
	store, err := Open(t.Context(), Config{Endpoint: server.URL, Credentials: lend})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := store.Stat(t.Context(), storage.Ref{Bucket: "bucket", Key: "key"}); !errors.Is(err, storage.ErrNotFound) {
			t.Fatal(err)
		}
	}
	if asked != 2 || len(signed) != 2 || !strings.Contains(signed[0]+signed[1], "Credential=second/") || strings.Contains(signed[1], "first") {
		t.Errorf("asked %d times; %q", asked, signed)
	}
}

func TestKeysThatNobodyLendsAreSaidAtOnce(t *testing.T) {
	t.Parallel()
	lend := func(context.Context) (storage.Credentials, error) {
		return storage.Credentials{}, errors.New("sign in first")
	}
	_, err := Open(t.Context(), Config{Endpoint: "http://host", Credentials: lend})
	if !errors.Is(err, storage.ErrDenied) || !strings.Contains(err.Error(), "sign in first") {
		t.Error(err)
	}
}
