package notify_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/integrate/notify"
)

func memory(t *testing.T) *bustest.Memory {
	t.Helper()
	bus := bustest.NewMemory(time.Minute)
	t.Cleanup(func() { _ = bus.Close() })
	return bus
}

func TestAFailureArrivesAsTheCloudEventThatItIs(t *testing.T) {
	t.Parallel()
	bus, hook := memory(t), receive(t, always(http.StatusAccepted))
	fail(t, bus, "penguin", "before")
	start(t, bus, notify.Options{URL: hook.URL, Token: "t0ken"})
	event := fail(t, bus, "penguin", "1")
	taken := hook.wait(1)[0]
	if got := taken.header.Get("Content-Type"); got != "application/cloudevents+json; charset=UTF-8" {
		t.Errorf("Content-Type %s", got)
	}
	if got := taken.header.Get("Authorization"); got != "Bearer t0ken" {
		t.Errorf("Authorization %s", got)
	}
	heard, err := events.Decode(map[string][]string{"Content-Type": {"application/cloudevents+json"}}, taken.body)
	if err != nil || heard.ID != "1" || heard.Run != event.Run || heard.Data.(*events.TrainingFailed).LogTail != "ValueError: no" {
		t.Errorf("got %+v, %v, want %+v", heard, err, event)
	}
}

// Selected events are sent; others, and those from before the start, are not.
func TestOnlySelectedEventsAreSent(t *testing.T) {
	t.Parallel()
	bus, hook := memory(t), receive(t, always(http.StatusOK))
	start(t, bus, notify.Options{URL: hook.URL, Pipelines: []string{"penguin"}, Kinds: []string{"training.failed", "training.failed"}})
	fail(t, bus, "taxi", "1")
	deadLetter(t, bus, events.Message{Stream: "EVENTS", Sequence: 7, Subject: "events.examples-ready.penguin.monday"})
	fail(t, bus, "penguin", "2")
	hook.wait(1)
	if ids := hook.ids(); !slices.Equal(ids, []string{"2"}) {
		t.Errorf("sent %v", ids)
	}
}

func TestADeadLetterIsSentWithoutItsMessage(t *testing.T) {
	t.Parallel()
	bus, hook := memory(t), receive(t, always(http.StatusOK))
	start(t, bus, notify.Options{URL: hook.URL})
	deadLetter(t, bus, events.Message{Stream: "EVENTS", Sequence: 7, Subject: "events.examples-ready.penguin.monday%201.x", Body: []byte(`"private"`)})
	taken := hook.wait(1)[0]
	e := taken.event
	var data struct {
		Number, Sequence uint64
		Stream           string
		Reason           events.DeadReason
	}
	if err := json.Unmarshal(e.Data, &data); err != nil {
		t.Fatal(err)
	}
	if e.Type != "dev.stoker.message.dead.v1" || e.ID != "EVENTS-7" || e.Subject != "penguin" || data.Number != 1 || data.Reason.Message != "bad" {
		t.Errorf("got %s", taken.body)
	}
	if strings.Contains(string(taken.body), "private") || strings.Contains(string(taken.body), base64.StdEncoding.EncodeToString([]byte(`"private"`))) {
		t.Errorf("the message is sent: %s", taken.body)
	}
}

// A job that failed is a dead letter and an event: one notification. An unreadable one has no
// event.
func TestAFailedJobIsSentOnce(t *testing.T) {
	t.Parallel()
	bus, hook := memory(t), receive(t, always(http.StatusOK))
	start(t, bus, notify.Options{URL: hook.URL})
	job := events.Job{
		ID: "j1", Function: events.FunctionTrain, Class: "cpu", Pipeline: "penguin", Revision: 1, Spec: json.RawMessage(`{}`), Run: "monday",
		Causes: []events.Cause{{Kind: events.KindExamplesReady, Source: "/x", ID: "1", Sequence: 1}},
	}
	body, err := json.Marshal(job)
	if err = errors.Join(err, job.Validate()); err != nil {
		t.Fatal(err)
	}
	deadLetter(t, bus, events.Message{Stream: "JOBS", Sequence: 1, Subject: events.JobSubject(job), Body: body})
	deadLetter(t, bus, events.Message{Stream: "JOBS", Sequence: 2, Subject: "jobs.train.cpu.x", Body: []byte("no job")})
	hook.wait(1)
	if ids := hook.ids(); !slices.Equal(ids, []string{"JOBS-2"}) {
		t.Errorf("sent %v", ids)
	}
}

func deadLetter(t *testing.T, bus events.Bus, message events.Message) {
	t.Helper()
	deadLetter := events.DeadLetter{Message: message, Reason: events.DeadReason{Kind: events.FailureInput, Message: "bad", Field: "run"}}
	if err := bus.DeadLetter(t.Context(), deadLetter); err != nil {
		t.Fatal(err)
	}
}

// The signature is checked by the formula of the specification, with a key in its form.
func TestRequestsAreSignedAsStandardWebhooksAre(t *testing.T) {
	t.Parallel()
	key := []byte("0123456789abcdef0123456789abcdef")
	bus, hook := memory(t), receive(t, always(http.StatusOK))
	start(t, bus, notify.Options{URL: hook.URL, Secret: "whsec_" + base64.StdEncoding.EncodeToString(key)})
	fail(t, bus, "penguin", "1")
	taken := hook.wait(1)[0]
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", taken.header.Get("webhook-id"), taken.header.Get("webhook-timestamp"), taken.body)
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	if got := taken.header.Get("webhook-signature"); got != want || taken.header.Get("webhook-id") != "1" {
		t.Errorf("signed %s as %q, want %s", got, taken.header.Get("webhook-id"), want)
	}
}

func TestChatsGetText(t *testing.T) {
	t.Parallel()
	for template, want := range map[string]string{
		"":                                   "training.failed: pipeline penguin, run monday 1 (module): it raised\n```\nValueError: no\n```",
		`{{.Pipeline}}/{{.Run}} {{.Reason}}`: "penguin/monday 1 module",
	} {
		bus, hook := memory(t), receive(t, always(http.StatusOK))
		start(t, bus, notify.Options{URL: hook.URL, Format: notify.Text, Template: template})
		fail(t, bus, "penguin", "1")
		var said map[string]string
		if err := json.Unmarshal(hook.wait(1)[0].body, &said); err != nil || len(said) != 1 || said["text"] != want {
			t.Errorf("said %q, %v, want %q", said, err, want)
		}
	}
}

// The output of a module mentions nobody in the chat.
func TestTheOutputOfAModuleMakesNoMentions(t *testing.T) {
	t.Parallel()
	for template, want := range map[string]string{
		"":                                "training.failed: pipeline penguin, run &lt;!here&gt; (module): &lt;!channel&gt; a &amp; b\n```\n&lt;@U1&gt;\n```",
		`{{plain .Message}} {{.LogTail}}`: "&lt;!channel&gt; a &amp; b <@U1>",
	} {
		bus, hook := memory(t), receive(t, always(http.StatusOK))
		start(t, bus, notify.Options{URL: hook.URL, Format: notify.Text, Template: template})
		event := events.Event{
			ID: "1", Source: "/stoker/train", Pipeline: "penguin", Run: "<!here>",
			Data: &events.TrainingFailed{Failed: events.Failed{Reason: events.FailureModule, Message: "<!channel> a & b", LogTail: "<@U1>"}},
		}
		if _, err := bus.Publish(t.Context(), event); err != nil {
			t.Fatal(err)
		}
		var said map[string]string
		if err := json.Unmarshal(hook.wait(1)[0].body, &said); err != nil || said["text"] != want {
			t.Errorf("said %q, %v, want %q", said, err, want)
		}
	}
}

// The receiver is away (its connection is cut), then fails, then is too busy: everything arrives,
// in order.
func TestATroubledReceiverGetsEverythingInOrder(t *testing.T) {
	t.Parallel()
	bus := memory(t)
	hook := receive(t, func(try int, _ *http.Request) int {
		switch try {
		case 1:
			panic(http.ErrAbortHandler)
		case 2:
			return http.StatusInternalServerError
		}
		return http.StatusOK
	})
	var said logged
	start(t, hurried{bus}, notify.Options{URL: hook.URL, Logger: slog.New(slog.NewTextHandler(&said, nil))})
	for _, id := range []string{"1", "2", "3"} {
		fail(t, bus, "penguin", id)
	}
	hook.wait(3)
	if ids := hook.ids(); !slices.Equal(ids, []string{"1", "2", "3"}) {
		t.Errorf("sent %v", ids)
	}
	if text := said.String(); strings.Contains(text, "s3cr3t") || !strings.Contains(text, "answers 500") {
		t.Errorf("log: %s", text)
	}
}

// An event that a receiver refuses for its content is sent a limited number of times.
func TestARefusedEventDoesNotHoldUpOthersForever(t *testing.T) {
	t.Parallel()
	bus := memory(t)
	var refusals int
	hook := receive(t, func(_ int, r *http.Request) int {
		if r.Header.Get("webhook-id") == "1" {
			refusals++
			return http.StatusUnprocessableEntity
		}
		return http.StatusOK
	})
	start(t, hurried{bus}, notify.Options{URL: hook.URL})
	fail(t, bus, "penguin", "1")
	fail(t, bus, "penguin", "2")
	hook.wait(1)
	hook.mu.Lock()
	defer hook.mu.Unlock()
	if refusals != 10 {
		t.Errorf("sent %d times, want 10", refusals)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	elsewhere := receive(t, always(http.StatusOK))
	hook := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	t.Cleanup(hook.Close)
	n, err := notify.New(memory(t), notify.Options{URL: hook.URL})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Try(t.Context()); err == nil || !strings.Contains(err.Error(), "redirects are not followed") {
		t.Errorf("got %v", err)
	}
	if len(elsewhere.all()) > 0 {
		t.Error("followed the redirect")
	}
}

func TestNoErrorHoldsTheAddress(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"http://127.0.0.1:1/hooks/s3cr3t", "http://no-such-host.invalid/s3cr3t", "http://u:s3cr3t@127.0.0.1:1", "s3cr3t", "ftp://x/s3cr3t", "http://h/%zzs3cr3t",
	} {
		n, err := notify.New(memory(t), notify.Options{URL: address})
		if err == nil {
			err = n.Try(t.Context())
		}
		if err == nil || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: got %v", address, err)
		}
	}
}

func TestBadOptionsAreRefusedWithoutTheirSecrets(t *testing.T) {
	t.Parallel()
	for want, opts := range map[string]notify.Options{
		"kind \"model.lost\"":      {Kinds: []string{"model.lost"}},
		"name":                     {Name: "No Name"},
		"pipeline":                 {Pipelines: []string{"A B"}},
		"timeout 1m0s":             {Timeout: time.Minute},
		"format \"slack\"":         {Format: "slack"},
		"only for the format text": {Template: "x"},
		"can't evaluate field Nam": {Format: notify.Text, Template: "{{.Nam}}"},
		"template: ":               {Format: notify.Text, Template: "{{"},
		"base64 behind whsec_":     {Secret: "whsec_s3cr3t!"},
		"visible ASCII":            {Token: "s3cr3t\r\nX: y"},
	} {
		opts.URL = "http://localhost"
		_, err := notify.New(memory(t), opts)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// logged is what a logger says, from many goroutines.
type logged struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *logged) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(text)
}
func (l *logged) String() string { l.mu.Lock(); defer l.mu.Unlock(); return l.all.String() }
