package openlineage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
)

// receiver is an OpenLineage receiver that is away for its first requests.
type receiver struct {
	mu       sync.Mutex
	away     int
	status   int // while it is away
	key      string
	events   []Event
	received chan Event
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.key = request.Header.Get("Authorization")
	if r.away > 0 {
		r.away--
		http.Error(w, "not now", r.status)
		return
	}
	var e Event
	if err := json.NewDecoder(request.Body).Decode(&e); err != nil || request.URL.Path != "/api/v1/lineage" {
		http.Error(w, "what?", http.StatusBadRequest)
		return
	}
	r.events = append(r.events, e)
	w.WriteHeader(http.StatusCreated)
	if r.received != nil {
		r.received <- e
	}
}

func exporter(t *testing.T, r *receiver) (*Exporter, *bustest.Memory) {
	t.Helper()
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	bus := bustest.NewMemory(time.Minute)
	t.Cleanup(func() { bus.Close() })
	at, err := Receiver(server.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	return &Exporter{Bus: bus, Sender: HTTP{URL: at, APIKey: "k3y"}}, bus
}

func publish(t *testing.T, bus *bustest.Memory, run string, data events.Data) {
	t.Helper()
	event := events.Event{ID: run, Source: "/stoker/train", Pipeline: "penguin", Run: run, Time: noon, Data: data}
	if _, err := bus.Publish(t.Context(), event); err != nil {
		t.Fatal(err)
	}
}

func TestTheLogIsSentToAReceiver(t *testing.T) {
	t.Parallel()
	r := &receiver{}
	x, bus := exporter(t, r)
	publish(t, bus, "monday", trained(false))
	publish(t, bus, "tuesday", &events.TrainingFailed{Failed: events.Failed{Reason: events.FailureModule, Message: "boom"}})
	sent, err := x.Replay(t.Context(), 1)
	if err != nil || sent != 4 || len(r.events) != 4 || r.key != "Bearer k3y" {
		t.Fatalf("sent %d, %v; got %d with %q", sent, err, len(r.events), r.key)
	}
	if r.events[1].Type != Complete || r.events[1].Run.ID != RunID(events.FunctionTrain, "penguin", "monday", "") || r.events[3].Type != Fail {
		t.Errorf("%+v", r.events)
	}
	if sent, err := x.Replay(t.Context(), 2); err != nil || sent != 2 {
		t.Errorf("from the second on: %d, %v", sent, err)
	}
	x.Pipeline = "taxi"
	if sent, err := x.Replay(t.Context(), 1); err != nil || sent != 0 {
		t.Errorf("of another pipeline: %d, %v", sent, err)
	}
}

func TestWhatAReceiverRefusesIsAnErrorOfItsOwn(t *testing.T) {
	t.Parallel()
	for status, never := range map[int]bool{400: true, 422: true, 401: false, 429: false, 500: false, 503: false, 302: false} {
		x, bus := exporter(t, &receiver{away: 1, status: status})
		publish(t, bus, "monday", trained(false))
		_, err := x.Replay(t.Context(), 1)
		if _, refused := errors.AsType[*Refused](err); err == nil || refused != never {
			t.Errorf("%d: %v", status, err)
		}
	}
}

func TestAFollowerSendsEventsAlthoughTheReceiverWasAway(t *testing.T) {
	t.Parallel()
	r := &receiver{away: 2, status: http.StatusServiceUnavailable, received: make(chan Event, 16)}
	x, bus := exporter(t, r)
	following, stop := context.WithCancel(t.Context())
	done := make(chan error)
	if _, err := bus.Listen(t.Context(), "openlineage", kinds(), time.Millisecond); !errors.Is(err, events.ErrEmpty) {
		t.Fatal(err) // it listens from now on
	}
	go func() { done <- x.Follow(following, "openlineage") }()
	publish(t, bus, "monday", trained(false))
	for _, want := range []State{Start, Complete} {
		if e := <-r.received; e.Type != want {
			t.Errorf("%s, want %s", e.Type, want)
		}
	}
	publish(t, bus, "tuesday", trained(true))
	if e := <-r.received; e.Run.ID != RunID(events.FunctionTrain, "penguin", "tuesday", "") {
		t.Errorf("then %+v", e.Run)
	}
	<-r.received
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestLinesAreWholeAndOneEach(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	lines := NewLines(&file)
	var writers sync.WaitGroup
	for range 8 {
		writers.Go(func() {
			for _, e := range (Converter{}).Of(recorded("", trained(false)), nil) {
				if err := lines.Send(t.Context(), e); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	all := strings.Split(strings.TrimSuffix(file.String(), "\n"), "\n")
	for _, line := range all {
		if !json.Valid([]byte(line)) {
			t.Errorf("%s", line)
		}
	}
	if len(all) != 16 {
		t.Errorf("%d lines", len(all))
	}
}

func TestTheEnvironmentSaysWhereEventsGo(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		environ map[string]string
		want    Config
		fails   bool
	}{
		"nothing":      {},
		"an address":   {map[string]string{"OPENLINEAGE_URL": "http://m:5000", "OPENLINEAGE_API_KEY": "k"}, Config{URL: "http://m:5000/api/v1/lineage", APIKey: "k"}, false},
		"an endpoint":  {map[string]string{"OPENLINEAGE_URL": "http://m/", "OPENLINEAGE_ENDPOINT": "v2/x"}, Config{URL: "http://m/v2/x"}, false},
		"newer":        {map[string]string{"OPENLINEAGE__TRANSPORT__TYPE": "http", "OPENLINEAGE__TRANSPORT__URL": "https://m", "OPENLINEAGE__TRANSPORT__AUTH": `{"type":"api_key","apiKey":"k"}`}, Config{URL: "https://m/api/v1/lineage", APIKey: "k"}, false},
		"a file":       {map[string]string{"OPENLINEAGE__TRANSPORT__TYPE": "file", "OPENLINEAGE__TRANSPORT__LOG_FILE_PATH": "e.jsonl", "OPENLINEAGE_NAMESPACE": "n"}, Config{File: "e.jsonl", Namespace: "n"}, false},
		"disabled":     {map[string]string{"OPENLINEAGE_DISABLED": "True"}, Config{Disabled: true}, false},
		"no file":      {map[string]string{"OPENLINEAGE__TRANSPORT__TYPE": "file"}, Config{}, true},
		"another type": {map[string]string{"OPENLINEAGE__TRANSPORT__TYPE": "kafka"}, Config{}, true},
		"no address":   {map[string]string{"OPENLINEAGE_URL": "marquez"}, Config{}, true},
		"broken auth":  {map[string]string{"OPENLINEAGE__TRANSPORT__AUTH": "s3cret"}, Config{}, true},
	} {
		got, err := FromEnviron(func(name string) string { return tc.environ[name] })
		if (err != nil) != tc.fails || !tc.fails && got != tc.want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, tc.want)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: the error shows a secret: %v", name, err)
		}
	}
}
