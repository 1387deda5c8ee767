package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/console/cache"
	"github.com/stoker-ml/stoker/functions/console/overview"
	"github.com/stoker-ml/stoker/functions/internal/filter"
	"github.com/stoker-ml/stoker/functions/runs/workers"
)

// nested returns an object of so many levels.
func nested(levels int) []byte {
	return []byte(strings.Repeat(`{"a":`, levels) + "1" + strings.Repeat("}", levels))
}

func TestNestedJSONIsShownToADepth(t *testing.T) {
	t.Parallel()
	text, settings := nested(9000), map[string]string{}
	flattenJSON(settings, "", text)
	for name := range settings {
		if depth := strings.Count(name, "."); depth > maxNesting || len(settings) != 1 {
			t.Errorf("%d settings, one of %d levels", len(settings), depth)
		}
	}
	if body := bodyText(events.Message{Body: text}); len(body) > 2*len(text) {
		t.Errorf("%d bytes of %d", len(body), len(text))
	}
	if text := indented(map[string]any{"a": json.RawMessage(`{"b":[1]}`), "c": "<"}); text != "{\n  \"a\": {\n    \"b\": [\n      1\n    ]\n  },\n  \"c\": \"<\"\n}" {
		t.Error(text)
	}
}

func TestAWrongConfusionMatrixIsReadOnce(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.logRun("s3://bkt/penguin/Trainer/model_run/1", 0.5)
	file := "s3://bkt/penguin/Trainer/model_run/1/confusion_matrix.json"
	for _, text := range []string{"{", `{"counts": [[1, 2]]}`} {
		w.shelve(file, text)
		w.publish(ready("monday"), withLog(trained("monday")))
		w.sees("/run?pipeline=penguin&run=monday", "The confusion matrix can&#39;t be read")
		if _, there := w.confusions.Get(file); !there {
			t.Errorf("%s is not kept", text)
		}
	}
}

func TestAFilterOfDeadLettersIsBounded(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/dead?q="+strings.Repeat("A", 60_000), nil)
	if f := deadFilterOf(r); len(f.Query) > filter.MaxBytes {
		t.Errorf("%d bytes", len(f.Query))
	}
}

func TestQueuesThatWorkersNameAreBounded(t *testing.T) {
	t.Parallel()
	var here []workers.Worker
	for i := range 300 {
		one := exampleWorker(fmt.Sprintf("w%d", i), 1, fmt.Sprintf("class-%d", i))
		here = append(here, workers.Worker{WorkerHeartbeat: events.WorkerHeartbeat{WorkerStatus: one}, Presence: events.WorkerAlive})
	}
	view := overviewView{Overview: overview.Overview{Queued: []overview.Queued{{Queue: workers.Queue{Function: "train", Class: "z"}, Runs: 3}}}}
	view.addQueues(cache.Polled[[]events.QueueState]{}, here)
	if len(view.Queues) > 100 || !view.Queues[len(view.Queues)-1].Stuck() {
		t.Errorf("%d queues, the last one is %+v", len(view.Queues), view.Queues[len(view.Queues)-1])
	}
}

func TestPartsOfAPageAreNotKeptForLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShared(time.Second, time.Now)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/live/compare?smooth=0.1", nil)
		for range 2 {
			if _, err := s.parts(r, false, func() (parts, error) { return parts{list: []part{{"a", "b"}}}, nil }); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Second)
		}
		p, _ := s.cache.Get(pageKey(r.URL, false))
		for _, kept := range []int{1, 0} {
			p.mu.Lock()
			if len(p.list) != kept {
				t.Errorf("%d parts are kept, want %d", len(p.list), kept)
			}
			p.mu.Unlock()
			time.Sleep(6 * time.Second)
		}
	})
}

// However many clients ask, only so many pages are made at a time; sending one takes no turn.
func TestPagesTakeTurns(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	building, answer := make(chan bool), make(chan bool)
	slow := page{template: "error", title: func(any) string { return "Slow" }, build: func(*http.Request) (any, error) {
		building <- true
		<-answer
		return errorView{Status: http.StatusOK, Title: "Slow"}, nil
	}}
	handler := w.page(slow)
	ask := func(ctx context.Context, done chan<- int) {
		recorder := httptest.NewRecorder()
		handler(recorder, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil))
		done <- recorder.Code
	}
	done := make(chan int, maxBuilding+1)
	for range maxBuilding {
		go ask(t.Context(), done)
		<-building
	}
	// Its client leaves while it waits.
	gone, leave := context.WithCancel(t.Context())
	left := make(chan int, 1)
	leave()
	if ask(gone, left); <-left == http.StatusOK {
		t.Error("a page was made for a client that had left")
	}
	go ask(t.Context(), done)
	answer <- true
	<-building // the last one takes the turn of the one that has ended
	for range maxBuilding {
		answer <- true
	}
	for range maxBuilding + 1 {
		if status := <-done; status != http.StatusOK {
			t.Errorf("status %d", status)
		}
	}
}
