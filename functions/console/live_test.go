package console

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// stream is a page that follows.
type stream struct {
	t     testing.TB
	lines *bufio.Scanner
	end   context.CancelFunc
}

// follow opens the updates of a page that has the parts named by has.
func (w *world) follow(path, has string, change ...func(*http.Request)) *stream {
	w.t.Helper()
	ctx, end := context.WithTimeout(w.t.Context(), patience)
	w.t.Cleanup(end)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+"/live"+path+"?seen="+url.QueryEscape(has), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, one := range change {
		one(request)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { answer.Body.Close() })
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	return &stream{w.t, lines, end}
}

// next returns an event's kind and id, and the first line of its data.
func (s *stream) next() (kind, id, data string) {
	s.t.Helper()
	for s.lines.Scan() {
		name, value, _ := strings.Cut(s.lines.Text(), ": ")
		switch {
		case name == "event":
			kind = value
		case name == "id":
			id = value
		case name == "data" && data == "":
			data = value
		case name == "":
			return kind, id, data
		}
	}
	s.t.Fatalf("the stream ended: %v", s.lines.Err())
	return
}

var seenIn = regexp.MustCompile(`data-seen="([^"]*)"`)

// has returns the parts that a page says it has.
func has(body string) string {
	if found := seenIn.FindStringSubmatch(body); found != nil {
		return found[1]
	}
	return ""
}

// TestAPageIsSentWhatItLacks checks that it is sent nothing else: neither when it is loaded, nor
// when it reconnects, also to a restarted console.
func TestAPageIsSentWhatItLacks(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.publish(ready("monday"))
	w.eventually("the whole is read", func() bool { _, body := w.get("/runs"); return !strings.Contains(body, "Still reading") })
	body := w.sees("/runs", "monday")
	first := w.follow("/runs", has(body))
	if kind, _, data := first.next(); kind != "heartbeat" {
		t.Fatalf("a page that has everything is sent %s %s first", kind, data)
	}
	w.publish(failed("monday", "boom"))
	var last string
	for last == "" || !strings.Contains(last, "runs-table") {
		_, id, data := first.next()
		if data == "runs-table" {
			last = id
		}
	}
	first.end()
	w.sees("/runs", "boom")
	again := w.follow("/runs", has(body), func(r *http.Request) { r.Header.Set("Last-Event-ID", last) })
	for kind := ""; kind != "heartbeat"; {
		var data string
		if kind, _, data = again.next(); data == "runs-table" {
			t.Error("a page that comes back is sent what it has")
		}
	}
	w2 := &world{t: t, bus: w.bus, store: w.store}
	other, err := New(Options{Bus: w.bus, Store: w.store, Root: w.opts.Root, Readers: Everybody, Quietest: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	w2.Console = other
	ctx, stop := context.WithCancel(t.Context())
	running := make(chan error, 1)
	go func() { running <- other.Run(ctx) }()
	server := w2.serveTest()
	w2.url = server.URL
	t.Cleanup(func() { stop(); <-running; server.Close() })
	w2.sees("/runs", "boom")
	w2.eventually("the whole is read", func() bool { _, body := w2.get("/runs"); return !strings.Contains(body, "Still reading") })
	if kind, _, data := w2.follow("/runs", has(w2.sees("/runs", "boom"))).next(); kind != "heartbeat" {
		t.Errorf("sent %s", data)
	}
}

func TestHowLongAgoIsNoNews(t *testing.T) {
	t.Parallel()
	at := time.Unix(1000, 0)
	one, other := string(ago(at, at.Add(time.Second))), string(ago(at, at.Add(time.Hour)))
	if one == other || markOf(one) != markOf(other) {
		t.Errorf("%s and %s have different marks, or are the same", one, other)
	}
	if markOf(one) == markOf(string(ago(at.Add(time.Second), at.Add(time.Second)))) {
		t.Error("another time has the same mark")
	}
}

// TestManyTabs checks that a part is made once for all pages, and that the number of streams is
// limited.
func TestManyTabs(t *testing.T) {
	t.Parallel()
	s, now := newShared(time.Second, time.Now), 0
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/live/?seen=x", nil)
	do := func() (parts, error) { now++; return parts{list: []part{{"menu", "x"}}}, nil }
	var tabs sync.WaitGroup
	for i := range 50 {
		tabs.Go(func() {
			r := request.Clone(request.Context())
			r.URL.RawQuery = fmt.Sprintf("seen=%d", i)
			if made, err := s.parts(r, false, do); err != nil || len(made.list) != 1 {
				t.Errorf("%+v, %v", made, err)
			}
		})
	}
	tabs.Wait()
	if _, err := s.parts(request, true, do); err != nil || now != 2 {
		t.Errorf("made %d times for 50 clients that may not act and one that may: %v", now, err)
	}
	if _, err := s.parts(request.Clone(t.Context()), true, func() (parts, error) { return parts{}, errors.New("away") }); err != nil {
		t.Errorf("what is fresh is made again: %v", err)
	}
	w := setup(t, nil)
	full := maxStreams[anonymousStreams]
	w.streams.mu.Lock()
	w.streams.classes[anonymousStreams] = full
	w.streams.mu.Unlock()
	status, _, header := w.ask(http.MethodGet, "/live/runs", nil)
	if status != http.StatusServiceUnavailable || header.Get("Retry-After") == "" {
		t.Errorf("one more follows: %d", status)
	}
	if status, _ := w.get("/runs"); status != http.StatusOK {
		t.Errorf("a page that can't follow can't be read either: %d", status)
	}
	w.streams.mu.Lock()
	defer w.streams.mu.Unlock()
	if n := w.streams.classes[anonymousStreams]; n != full {
		t.Errorf("%d follow", n)
	}
}

// TestAnErrorIsNoHTML checks errors as parts of a page that follows.
func TestAnErrorIsNoHTML(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	page := page{template: "runs", title: func(any) string { return "" }, fragments: []string{"runs-table"}, build: func(*http.Request) (any, error) {
		return nil, errors.New(`no such key <img src=x onerror=alert(1)>`)
	}}
	out := httptest.NewRecorder()
	to := &sender{w: out, control: http.NewResponseController(out), seen: seen{}}
	if _, err := w.update(to, newRequest(t), page); err != nil {
		t.Fatal(err)
	}
	data := out.Body.String()
	if strings.Contains(data, "<img") || !strings.Contains(data, "&lt;img") {
		t.Errorf("an error's text is sent as HTML: %s", data)
	}
}

// TestASlowReaderLosesItsPlace checks that a slow reader is disconnected.
func TestASlowReaderLosesItsPlace(t *testing.T) {
	t.Parallel()
	out := &stuck{ResponseRecorder: httptest.NewRecorder()}
	to := &sender{w: out, control: http.NewResponseController(out), seen: seen{}}
	if err := to.part("menu", "x"); err == nil {
		t.Error("an update that is not read is sent forever")
	}
	if out.deadline.IsZero() {
		t.Error("no deadline was set")
	}
}

// stuck accepts nothing once there is a deadline, like a connection whose other end does not read.
type stuck struct {
	*httptest.ResponseRecorder
	deadline time.Time
}

func (s *stuck) SetWriteDeadline(at time.Time) error { s.deadline = at; return nil }
func (s *stuck) SetReadDeadline(time.Time) error     { return nil }
func (s *stuck) Write([]byte) (int, error)           { return 0, context.DeadlineExceeded }

// TestRunsOfBeforeHaveTheirCurves checks that a list shows the loss of runs that ended before the
// console was started, read from their run logs.
func TestRunsOfBeforeHaveTheirCurves(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.logRun("s3://bkt/penguin/Trainer/model_run/1", 0.5)
	event := trained("monday")
	event.Data.(*events.ModelTrained).ModelRun = "s3://bkt/penguin/Trainer/model_run/1"
	w.publish(event)
	w.sees("/runs", `class="spark"`)
	w.sees("/compare?run=penguin/monday", "loss by step", "accuracy by step")
}

// TestARunThatWasLeftOutIsCompared checks that the log and the store are read for it.
func TestARunThatWasLeftOutIsCompared(t *testing.T) {
	t.Parallel()
	w := setup(t, func(o *Options) { o.MaxRuns = 2 })
	w.logRun("s3://bkt/penguin/Trainer/model_run/1", 0.5)
	old := trained("oldest")
	old.Data.(*events.ModelTrained).ModelRun = "s3://bkt/penguin/Trainer/model_run/1"
	w.publish(old)
	for i := range 10 {
		w.publish(trained(fmt.Sprintf("run-%d", i)))
	}
	w.sees("/runs", "older runs are not shown", "run-9")
	w.sees("/compare?run=penguin/oldest", "loss by step", "0.875")
}
