package notify_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/integrate/notify"
)

// receiver is a webhook that answers by a function, and keeps what it has accepted.
type receiver struct {
	*testing.T
	URL string

	mu     sync.Mutex
	answer func(try int, r *http.Request) int // status of the n-th request, from 1
	tries  int
	taken  []got
	more   chan struct{}
}

// got is one request that was answered 2xx.
type got struct {
	header http.Header
	body   []byte
	event  struct {
		Type, ID, Source, Subject, Run string
		Data                           json.RawMessage
	}
}

func receive(t *testing.T, answer func(try int, r *http.Request) int) *receiver {
	t.Helper()
	r := &receiver{T: t, answer: answer, more: make(chan struct{}, 100)}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.URL = server.URL + "/hooks/s3cr3t-path"
	return r
}

func always(status int) func(int, *http.Request) int {
	return func(int, *http.Request) int { return status }
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return
	}
	w.WriteHeader(r.answered(request, body))
}

func (r *receiver) answered(request *http.Request, body []byte) (status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tries++
	if status = r.answer(r.tries, request); status < 300 {
		g := got{header: request.Header.Clone(), body: body}
		_ = json.Unmarshal(body, &g.event) // text has no such members
		r.taken = append(r.taken, g)
		r.more <- struct{}{}
	}
	return status
}

// wait returns what was accepted once it is so many.
func (r *receiver) wait(count int) []got {
	r.Helper()
	for range count {
		select {
		case <-r.more:
		case <-time.After(patience):
			r.Fatalf("%d of %d arrived", len(r.all()), count)
		}
	}
	return r.all()
}

func (r *receiver) all() []got {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]got(nil), r.taken...)
}

func (r *receiver) ids() (ids []string) {
	for _, g := range r.all() {
		ids = append(ids, g.event.ID)
	}
	return ids
}

// patience is how long tests wait for an effect: only a failure waits so long.
const patience = 8 * time.Minute

// start runs a new notifier until the test ends, or stop is called. It sends only later events.
func start(t *testing.T, bus events.Bus, opts notify.Options) (stop func()) {
	t.Helper()
	listening(t, bus)
	return resume(t, bus, opts)
}

// resume is start of a notifier that has its consumers.
func resume(t *testing.T, bus events.Bus, opts notify.Options) (stop func()) {
	t.Helper()
	n, err := notify.New(bus, opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// fail publishes that a training failed.
func fail(t *testing.T, bus events.Bus, pipeline, id string) events.Event {
	t.Helper()
	event := events.Event{
		ID: id, Source: "/stoker/train", Pipeline: pipeline, Run: "monday 1", Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Data: &events.TrainingFailed{Failed: events.Failed{Reason: events.FailureModule, Message: "it raised", LogTail: "ValueError: no"}},
	}
	if _, err := bus.Publish(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	return event
}
