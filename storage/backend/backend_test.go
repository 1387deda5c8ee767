package backend_test

import (
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/backend"
)

func TestTheSchemeSelectsTheBackend(t *testing.T) {
	t.Parallel()
	a := storage.Access{Endpoint: "http://127.0.0.1:1", AccessKey: "key", SecretKey: "secret"}
	store, err := backend.Open(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
	for endpoint, want := range map[string]string{
		"ftp://host":     `endpoint "ftp://host": expected a URL of scheme http, https`,
		"127.0.0.1:9000": `endpoint "127.0.0.1:9000": expected a URL of scheme http, https`,
		"http://":        `expected http://host:port or https://host:port`,
	} {
		a.Endpoint = endpoint
		if store, err := backend.Open(t.Context(), a); store != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: store %v, error %v, expected %s", endpoint, store, err, want)
		}
	}
}
