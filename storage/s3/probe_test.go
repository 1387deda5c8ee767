package s3_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stoker-ml/stoker/local/bucket/buckettest"
	"github.com/stoker-ml/stoker/storage"
)

// A store that does not implement conditional writes may say so, as Amazon's list of S3 error codes
// has it.
func TestProbeRefusesAStoreThatDoesNotImplementConditions(t *testing.T) {
	t.Parallel()
	store := ask(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPut {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.WriteHeader(http.StatusNotImplemented)
		io.WriteString(w, "<Error><Code>NotImplemented</Code><Message>not this header</Message></Error>")
	}, nil)
	err := storage.Probe(t.Context(), store, somewhere)
	if !errors.Is(err, storage.ErrNoConditions) || errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("got %v, want ErrNoConditions", err)
	}
	if !strings.Contains(fmt.Sprint(err), store.String()) {
		t.Errorf("%v does not name %s", err, store)
	}
}

// losing forwards requests to a server, and closes the connection instead of answering the nth PUT.
func losing(t *testing.T, server string, nth int64) *httptest.Server {
	t.Helper()
	to, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	var puts atomic.Int64
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host // it is signed
		},
		ModifyResponse: func(answer *http.Response) error {
			if answer.Request.Method == http.MethodPut && puts.Add(1)-1 == nth {
				return http.ErrAbortHandler
			}
			return nil
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	between := httptest.NewServer(proxy)
	t.Cleanup(between.Close)
	return between
}

// The server has written; the client writes again and is answered that the condition fails.
func TestProbeResolvesALostAnswerOfARealServer(t *testing.T) {
	t.Parallel()
	for nth := range int64(12) { // the sequential writes, those of one race, some of the next
		t.Run(fmt.Sprint(nth), func(t *testing.T) {
			t.Parallel()
			cfg := buckettest.Config(t)
			direct, root := buckettest.New(t)
			cfg.Endpoint = losing(t, cfg.Endpoint, nth).URL
			if err := storage.Probe(t.Context(), open(t, cfg), root); err != nil {
				t.Error(err)
			}
			for object, err := range direct.List(t.Context(), root) {
				t.Errorf("the probe left %v (%v)", object.Ref, err)
			}
		})
	}
}
