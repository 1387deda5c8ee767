package s3_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/s3"
)

// These servers send answers that no correct server would.

func ask(t *testing.T, answer http.HandlerFunc, spoil func(*s3.Config)) *s3.Store {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	cfg := s3.Config{Endpoint: server.URL, AccessKey: "access", SecretKey: "secret", MaxTries: 3}
	if spoil != nil {
		spoil(&cfg)
	}
	return open(t, cfg)
}

var somewhere = storage.Ref{Bucket: "bucket", Key: "key"}

func object(w http.ResponseWriter, size int) {
	w.Header().Set("ETag", `"etag"`)
	w.Header().Set("Last-Modified", "Sat, 21 Nov 2026 09:00:00 GMT")
	w.Header().Set("Content-Length", fmt.Sprint(size))
	w.WriteHeader(http.StatusOK)
}

func TestAStreamThatIsCutIsAnErrorAndNoEnd(t *testing.T) {
	t.Parallel()
	store := ask(t, func(w http.ResponseWriter, r *http.Request) {
		object(w, 1000)
		io.WriteString(w, strings.Repeat("x", 400))
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}, nil)
	body, o, err := store.Open(t.Context(), somewhere, "")
	if err != nil || o.Size != 1000 {
		t.Fatal(o, err)
	}
	defer body.Close()
	n, err := io.Copy(io.Discard, body)
	if !errors.Is(err, storage.ErrUnavailable) || !strings.Contains(err.Error(), somewhere.String()) {
		t.Errorf("%d bytes, %v", n, err)
	}
}

func TestAnAnswerWithoutLengthIsRefused(t *testing.T) {
	t.Parallel()
	store := ask(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"etag"`)
		w.Header().Set("Last-Modified", "Sat, 21 Nov 2026 09:00:00 GMT")
		w.(http.Flusher).Flush() // chunked from here on
		io.WriteString(w, "some")
	}, nil)
	if _, _, err := store.Open(t.Context(), somewhere, ""); err == nil || !strings.Contains(err.Error(), "no length") {
		t.Error(err)
	}
}

func TestAStreamThatRestsIsCut(t *testing.T) {
	t.Parallel()
	store := ask(t, func(w http.ResponseWriter, r *http.Request) {
		object(w, 1000)
		io.WriteString(w, "some")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}, func(cfg *s3.Config) { cfg.Stall = 50 * time.Millisecond })
	body, _, err := store.Open(t.Context(), somewhere, "")
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if _, err := io.Copy(io.Discard, body); !errors.Is(err, storage.ErrUnavailable) {
		t.Error(err)
	}
}

func TestAnswersBecomeKinds(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status int
		code   string
		want   error
	}{
		{404, "NoSuchKey", storage.ErrNotFound},
		{404, "NoSuchBucket", storage.ErrNotFound},
		{404, "", storage.ErrNotFound},
		{412, "PreconditionFailed", storage.ErrPrecondition},
		{412, "", storage.ErrPrecondition},
		{409, "ConditionalRequestConflict", storage.ErrUnavailable},
		{403, "AccessDenied", storage.ErrDenied},
		{403, "", storage.ErrDenied},
		{401, "", storage.ErrDenied},
		{400, "InvalidToken", storage.ErrDenied},
		{500, "InternalError", storage.ErrUnavailable},
		{501, "NotImplemented", storage.ErrNoConditions},
		{501, "", storage.ErrNoConditions},
		{502, "", storage.ErrUnavailable},
		{503, "SlowDown", storage.ErrUnavailable},
		{429, "", storage.ErrUnavailable},
	} {
		store := ask(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(tc.status)
			if tc.code != "" {
				fmt.Fprintf(w, "<Error><Code>%s</Code><Message>why</Message></Error>", tc.code)
			}
		}, func(cfg *s3.Config) { cfg.MaxTries = 1 })
		_, err := store.PutIf(t.Context(), somewhere, []byte("x"), storage.Condition{IfAbsent: true})
		if !errors.Is(err, tc.want) {
			t.Errorf("%d %s: got %v, want %v", tc.status, tc.code, err, tc.want)
		}
	}
}

func TestPassingErrorsAreRetriedWithALimit(t *testing.T) {
	t.Parallel()
	for fails, want := range map[int64]error{2: nil, 100: storage.ErrUnavailable} {
		var asked atomic.Int64
		store := ask(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if asked.Add(1) <= fails {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			// The chunks of the signature surround it.
			if !strings.Contains(string(body), "content") {
				t.Errorf("sent again: %q", body)
			}
			w.Header().Set("ETag", `"etag"`)
		}, nil)
		_, err := store.Put(t.Context(), somewhere, strings.NewReader("content"), 7)
		if !errors.Is(err, want) || asked.Load() != 3 {
			t.Errorf("%d failures: asked %d times, %v", fails, asked.Load(), err)
		}
	}
}

func TestALostAnswerToAConditionalWriteLooksLikeALoss(t *testing.T) {
	t.Parallel()
	var wrote atomic.Bool
	store := ask(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("If-None-Match") != "*" {
			t.Errorf("headers are %v", r.Header)
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		if wrote.CompareAndSwap(false, true) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			conn.Close()
			return
		}
		w.WriteHeader(http.StatusPreconditionFailed)
	}, nil)
	_, err := store.PutIf(t.Context(), somewhere, []byte("x"), storage.Condition{IfAbsent: true})
	if !errors.Is(err, storage.ErrPrecondition) {
		t.Errorf("got %v: storage.PutCommit relies on reading who won", err)
	}
}

func TestADeadlineIsTheCallersOwn(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	store := open(t, s3.Config{Endpoint: "http://" + l.Addr().String(), AccessKey: "a", SecretKey: "s"})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = store.Stat(ctx, somewhere)
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, storage.ErrUnavailable) {
		t.Error(err)
	}
}
