package s3_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stoker-ml/stoker/storage"
)

func TestAnEmptyObjectIsSentWithItsLength(t *testing.T) {
	t.Parallel()
	store := ask(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || len(r.TransferEncoding) > 0 || r.ContentLength != int64(len(body)) {
			t.Errorf("%v, length %d, encoding %v, body %q", err, r.ContentLength, r.TransferEncoding, body)
		}
		w.Header().Set("ETag", `"etag"`)
	}, nil)
	if _, err := store.Put(t.Context(), somewhere, strings.NewReader(""), 0); err != nil {
		t.Error(err)
	}
	if _, err := store.PutIf(t.Context(), somewhere, nil, storage.Condition{IfAbsent: true}); err != nil {
		t.Error(err)
	}
}

func TestARequestThatTheServerCouldNotFindIsSentAgain(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	content := bytes.Repeat([]byte("content"), 1000)
	store := ask(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if asked.Add(1) == 1 {
			w.Header().Set("Connection", "close")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, "<Error><Code>BadRequest</Code><Message>An error occurred when parsing the HTTP request.</Message></Error>")
			return
		}
		if !bytes.Contains(body, content) {
			t.Errorf("sent again: %d bytes", len(body))
		}
		w.Header().Set("ETag", `"etag"`)
	}, nil)
	if _, err := store.Put(t.Context(), somewhere, bytes.NewReader(content), int64(len(content))); err != nil || asked.Load() != 2 {
		t.Errorf("asked %d times, %v", asked.Load(), err)
	}
}

func TestAnotherBadRequestIsNoneThatPasses(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	store := ask(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, "<Error><Code>InvalidDigest</Code><Message>why</Message></Error>")
	}, nil)
	_, err := store.PutIf(t.Context(), somewhere, []byte("x"), storage.Condition{IfAbsent: true})
	if err == nil || !strings.Contains(err.Error(), "why") || asked.Load() != 1 {
		t.Errorf("asked %d times, %v", asked.Load(), err)
	}
}
