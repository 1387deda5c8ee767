package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
)

// deadLetters makes dead letters of jobs, each with a reason of its own, and waits until pages show
// them: a page may be as old as the last listing.
func (w *world) deadLetters(kind events.FailureKind, reasons ...string) {
	w.t.Helper()
	number := uint64(0)
	for range w.bus.DeadLetters(w.t.Context()) {
		number++
	}
	for _, reason := range reasons {
		number++
		job := events.Job{
			ID: fmt.Sprintf("%064d", number), Function: events.FunctionTrain, Pipeline: "penguin", Run: fmt.Sprintf("run-%d", number), Class: "cpu", Revision: 1,
			Spec: json.RawMessage(`{}`), Causes: []events.Cause{{Kind: events.KindTransformReady, Source: "/up", ID: "x", Sequence: 1}},
		}
		body, err := json.Marshal(job)
		if err == nil {
			err = w.bus.DeadLetter(w.t.Context(), events.DeadLetter{
				Message: events.Message{Stream: events.StreamJobs, Sequence: 1000 + number, Subject: "jobs.train.cpu." + job.ID, Body: body},
				Reason:  events.DeadReason{Kind: kind, Message: reason},
			})
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
	w.sees("/dead?by=letter", fmt.Sprintf("run-%d<", number))
}

func TestDeadLettersAreGroupedByReason(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.apply(penguin)
	w.deadLetters(events.FailureModule, "ValueError: dimension 13 of 14", "ValueError: dimension 7 of 8\nTraceback", "<script>alert(1)</script> password=hunter2")
	w.deadLetters(events.FailureInput, "ValueError: dimension 1 of 2")
	body := w.sees("/dead", "ValueError: dimension # of #", "<b>2</b> letters", "By reason", "&lt;script&gt;alert(#)")
	for _, wrong := range []string{"<script>alert", "hunter2", "dimension 13", `href="/dead/ask`, `type="checkbox"`} {
		if strings.Contains(body, wrong) {
			t.Errorf("the page holds %s", wrong)
		}
	}
	if first := strings.Index(body, "<b>2</b>"); first > strings.Index(body, "<b>1</b>") {
		t.Error("the largest group is not first")
	}
	group := regexp.MustCompile(`href="(/dead\?group=[0-9a-f]+)"`).FindStringSubmatch(body)[1]
	if body = w.sees(group, "dimension 13", "dimension 7", "All reasons"); strings.Contains(body, "dimension 1 of 2") || strings.Contains(body, "alert") {
		t.Error("a group holds a letter of another kind or reason")
	}
	for path, want := range map[string]int{
		"/dead?by=letter": 4, "/dead?by=letter&kind=input": 1, "/dead?by=letter&pipeline=penguin": 4, "/dead?by=letter&pipeline=other": 0,
		"/dead?by=letter&q=RUN-3": 1, "/dead?group=" + strings.Repeat("0", 10): 0, "/dead?by=letter&page=99": 4,
	} {
		if _, body := w.get(path); strings.Count(body, `<li class="letter">`) != want {
			t.Errorf("%s shows %d letters, want %d", path, strings.Count(body, `<li class="letter">`), want)
		}
	}
	w.sees("/dead?q=nothing-like-that", "No dead letter matches. 4 are kept")
	if _, body := w.get("/dead", w.trusted); !strings.Contains(body, "/dead/ask?do=retry&amp;group=") {
		t.Error("a group can't be retried")
	}
}

// retried records what is enqueued and deleted.
type retried struct {
	*bustest.Memory
	mu       sync.Mutex
	enqueued map[string]int
	refuse   func(events.Job) error
	ready    chan struct{} // a batch waits for it, if it is not nil
}

func (b *retried) Enqueue(ctx context.Context, job events.Job) error {
	if b.ready != nil {
		<-b.ready
	}
	b.mu.Lock()
	b.enqueued[job.Run]++
	b.mu.Unlock()
	if b.refuse != nil {
		if err := b.refuse(job); err != nil {
			return err
		}
	}
	return b.Memory.Enqueue(ctx, job)
}

func setupRetried(t *testing.T) (*world, *retried) {
	bus := &retried{Memory: bustest.NewMemory(0), enqueued: map[string]int{}}
	w := setup(t, func(o *Options) { o.Bus = bus })
	w.bus = bus.Memory
	w.apply(penguin)
	return w, bus
}

// numbersOn returns the letters that a question is about.
func numbersOn(t *testing.T, body string) url.Values {
	t.Helper()
	found := regexp.MustCompile(`name="numbers" value="([^"]+)"`).FindStringSubmatch(body)
	if found == nil {
		t.Fatalf("the page asks nothing:\n%s", body)
	}
	return url.Values{"numbers": {found[1]}}
}

// TestAGroupIsRetriedOnce retries a group twice at once: each letter is retried exactly once, and
// the failure of one does not keep the others.
func TestAGroupIsRetriedOnce(t *testing.T) {
	t.Parallel()
	w, bus := setupRetried(t)
	bus.refuse = func(job events.Job) error {
		if job.Run == "run-3" {
			return errors.New("no space for <b> job 3, api_token=hunter2")
		}
		return nil
	}
	bus.ready = make(chan struct{})
	w.deadLetters(events.FailureModule, "boom 1", "boom 2", "boom 3", "boom 4", "boom 5", "another")
	group := regexp.MustCompile(`href="/dead(\?group=[0-9a-f]+)"`).FindStringSubmatch(w.sees("/dead", "boom #", "another"))[1]
	ask := "/dead/ask" + group + "&do=retry"
	if body := w.sees(ask, "Retry 5 dead letters?", "penguin: 5 dead letters", "boom #", "Enter token to act"); strings.Contains(body, "<form method=\"post\" action=\"/dead") {
		t.Error("the button is shown without the token")
	}
	_, body := w.get(ask, w.trusted)
	form := numbersOn(t, body)
	status, _, header := w.ask(http.MethodPost, "/dead/retry-many", form, w.trusted)
	at := header.Get("Location")
	if status != http.StatusSeeOther || !strings.HasPrefix(at, "/dead/batch?id=") {
		t.Fatalf("%d to %s", status, at)
	}
	w.sees(at, "Retrying 5 dead letters", "<dt>Left</dt><dd>5</dd>")
	if status, body := w.post("/dead/retry-many", form, w.trusted); status != http.StatusConflict {
		t.Errorf("a second batch at the same time: %d %s", status, body)
	}
	w.sees(ask, "see how far that is")
	close(bus.ready)
	body = w.sees(at, "Retried 4 of 5 dead letters", "<dt>Failed</dt><dd>1</dd>", "<dt>Left</dt><dd>0</dd>", "no space for &lt;b&gt; job 3", `/dead-letter?number=3`)
	if strings.Contains(body, "hunter2") {
		t.Error("a failure shows a secret")
	}
	// Again: the letters that are left are retried, the others are gone.
	status, _, header = w.ask(http.MethodPost, "/dead/retry-many", form, w.trusted)
	if status != http.StatusSeeOther {
		t.Fatal(status)
	}
	w.sees(header.Get("Location"), "Retried 0 of 5 dead letters", "<dt>No longer there</dt><dd>4</dd>", "<dt>Failed</dt><dd>1</dd>")
	for run, n := range map[string]int{"run-1": 1, "run-2": 1, "run-3": 2, "run-4": 1, "run-5": 1, "run-6": 0} {
		if bus.enqueued[run] != n {
			t.Errorf("the job of %s was enqueued %d times, want %d", run, bus.enqueued[run], n)
		}
	}
	w.sees("/dead", "boom #", "another")
	if _, body := w.get("/dead?by=letter"); strings.Count(body, `<li class="letter">`) != 2 {
		t.Error("not the letters that failed or were not chosen are left")
	}
}

func TestChosenLettersAreDropped(t *testing.T) {
	t.Parallel()
	w, bus := setupRetried(t)
	w.deadLetters(events.FailureModule, "a", "b", "c", "d")
	w.sees("/dead?by=letter", "run-4")
	body := w.sees("/dead/ask?do=drop&chosen=1&number=2&number=4&number=999&number=x", "Drop 2 dead letters?", "can't be undone")
	if strings.Contains(body, `name="numbers"`) {
		t.Error("the question has a form without the token")
	}
	// One word, as in the command line.
	for _, path := range []string{"/dead", "/dead?by=letter", "/dead-letter?number=1", "/dead/ask?do=drop&chosen=1&number=2"} {
		if _, body := w.get(path, w.trusted); strings.Contains(body, "Delete") || !strings.Contains(body, ">Drop") {
			t.Errorf("%s:\n%s", path, body)
		}
	}
	_, body = w.get("/dead/ask?do=drop&chosen=1&number=2&number=4", w.trusted)
	_, _, header := w.ask(http.MethodPost, "/dead/drop-many", numbersOn(t, body), w.trusted)
	w.sees(header.Get("Location"), "Dropped 2 of 2 dead letters")
	if body := w.sees("/dead?by=letter", "run-1", "run-3"); strings.Contains(body, "run-2") || strings.Contains(body, "run-4") {
		t.Error("letters that were dropped are listed")
	}
	if len(bus.enqueued) > 0 {
		t.Error("a letter that was dropped was retried")
	}
	if status, _ := w.get("/dead/ask?do=drop&chosen=1"); status != http.StatusBadRequest {
		t.Errorf("nothing is chosen: %d", status)
	}
}

// TestABatchIsRefused tries what only a form of the console itself may do.
func TestABatchIsRefused(t *testing.T) {
	t.Parallel()
	w, bus := setupRetried(t)
	w.deadLetters(events.FailureModule, "a", "b")
	form := url.Values{"numbers": {"1-2"}}
	for _, path := range []string{"/dead/retry-many", "/dead/drop-many"} {
		for name, tc := range map[string]struct {
			form   url.Values
			as     func(*http.Request)
			status int
		}{
			"nobody":         {form, func(*http.Request) {}, http.StatusUnauthorized},
			"another site":   {form, func(r *http.Request) { w.trusted(r); r.Header.Set("Sec-Fetch-Site", "cross-site") }, http.StatusForbidden},
			"another origin": {form, func(r *http.Request) { w.trusted(r); r.Header.Set("Origin", "https://evil.example") }, http.StatusForbidden},
			"no numbers":     {nil, w.trusted, http.StatusBadRequest},
			"too many":       {url.Values{"numbers": {"1-1001"}}, w.trusted, http.StatusBadRequest},
			"many ranges":    {url.Values{"numbers": {"1-600.601-1200"}}, w.trusted, http.StatusBadRequest},
			"overflow":       {url.Values{"numbers": {"0-18446744073709551615"}}, w.trusted, http.StatusBadRequest},
			"a long text":    {url.Values{"numbers": {strings.Repeat("1.", 7000) + "1"}}, w.trusted, http.StatusBadRequest},
			"words":          {url.Values{"numbers": {"all"}}, w.trusted, http.StatusBadRequest},
			"backwards":      {url.Values{"numbers": {"2-1"}}, w.trusted, http.StatusBadRequest},
		} {
			if status, _ := w.post(path, tc.form, tc.as); status != tc.status {
				t.Errorf("%s, %s: %d, want %d", path, name, status, tc.status)
			}
		}
		if status, _ := w.get(path, w.trusted); status != http.StatusNotFound && status != http.StatusMethodNotAllowed {
			t.Errorf("GET %s does something: %d", path, status)
		}
	}
	for _, path := range []string{"/dead/ask", "/dead/ask?do=burn"} {
		if status, _ := w.get(path); status != http.StatusBadRequest {
			t.Errorf("%s: %d", path, status)
		}
	}
	if status, _ := w.get("/dead/batch?id=x"); status != http.StatusNotFound {
		t.Errorf("an unknown batch: %d", status)
	}
	if len(bus.enqueued) > 0 {
		t.Error("a job was retried")
	}
}

func TestNumbersOfABatchAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	for _, numbers := range [][]uint64{{1}, {1, 2, 3}, {5, 7, 8, 100}, {1<<64 - 2, 1<<64 - 1}} {
		text := encodeNumbers(numbers)
		if read, err := decodeNumbers(text); err != nil || !slices.Equal(read, numbers) {
			t.Errorf("%v as %s: %v, %v", numbers, text, read, err)
		}
		if url.QueryEscape(text) != text {
			t.Errorf("%s is longer in a form", text)
		}
	}
	if read, err := decodeNumbers("3.1-3.2"); err != nil || !slices.Equal(read, []uint64{1, 2, 3}) {
		t.Errorf("a number twice: %v, %v", read, err)
	}
	var sparse []uint64
	for i := range uint64(maxBatch) {
		sparse = append(sparse, 10_000_000+2*i)
	}
	if text := encodeNumbers(sparse); len(text) > maxBatchNumbers || len(text) > maxForm {
		t.Errorf("the numbers of the largest batch take %d bytes", len(text))
	}
}

// TestOfManyLettersTheOldestAreAskedAbout checks that one question has a bound.
func TestOfManyLettersTheOldestAreAskedAbout(t *testing.T) {
	t.Parallel()
	w, _ := setupRetried(t)
	reasons := make([]string, maxBatch+3)
	for i := range reasons {
		reasons[i] = fmt.Sprintf("boom %d", i)
	}
	w.deadLetters(events.FailureModule, reasons...)
	w.sees("/dead/ask?do=retry", "Retry 1,000 dead letters?", "3 more match")
	_, body := w.get("/dead/ask?do=retry", w.trusted)
	if got := numbersOn(t, body).Get("numbers"); got != "1-1000" {
		t.Errorf("%s", got)
	}
}
