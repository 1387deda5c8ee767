package endpoint_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/integrate/bridge/endpoint"
)

// slow is a log that stores an event once the test allows it.
type slow struct {
	endpoint.Log
	began, goOn chan struct{}
}

func (s slow) Publish(ctx context.Context, f events.Event) (events.Receipt, error) {
	s.began <- struct{}{}
	<-s.goOn
	return s.Log.Publish(ctx, f)
}

// serve starts an endpoint on a port of loopback.
func serve(t *testing.T, w world) (url string, stop context.CancelFunc, ended chan error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended = make(chan error, 1)
	go func() { ended <- w.handler.(*endpoint.Endpoint).Serve(ctx, listener, nil) }()
	t.Cleanup(cancel)
	return "http://" + listener.Addr().String(), cancel, ended
}

func send(t *testing.T, url, body string) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", jsonType)
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(r)
	if err == nil {
		_, _ = io.Copy(io.Discard, answer.Body)
		err = answer.Body.Close()
	}
	return answer, err
}

// A request in progress when the endpoint stops is stored, and answered.
func TestAnEndpointThatStopsAnswersWhatIsInProgress(t *testing.T) {
	t.Parallel()
	log := slow{began: make(chan struct{}), goOn: make(chan struct{})}
	w := setup(t, func(_ *endpoint.Options, w *world) { log.Log = w.memory; w.log = log })
	url, stop, ended := serve(t, w)
	answered := make(chan error, 1)
	go func() {
		answer, err := send(t, url, structured("1"))
		if err == nil && answer.StatusCode != http.StatusAccepted {
			err = errors.New(answer.Status)
		}
		answered <- err
	}()
	<-log.began
	stop()
	for { // until it accepts no more connections
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			break
		}
		_ = conn.Close()
	}
	close(log.goOn)
	if err := errors.Join(<-answered, <-ended); err != nil {
		t.Error(err)
	}
	w.wantIDs("stopped", "1")
}

// Requests beyond the limit are answered 503 with Retry-After, and their bodies are not read.
func TestTooManyRequestsAreRefusedForNow(t *testing.T) {
	t.Parallel()
	log := slow{began: make(chan struct{}), goOn: make(chan struct{})}
	w := setup(t, func(_ *endpoint.Options, w *world) { log.Log = w.memory; w.log = log })
	var answers []chan int
	for range 32 {
		answer := make(chan int, 1)
		answers = append(answers, answer)
		go func() { answer <- w.post(structured("1"), "Content-Type", jsonType).StatusCode }()
		<-log.began
	}
	r := w.post(structured("2"), "Content-Type", jsonType)
	if w.wantProblem("one more", r, 503, ""); r.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	close(log.goOn)
	for _, answer := range answers {
		if status := <-answer; status != http.StatusAccepted {
			t.Errorf("status %d", status)
		}
	}
}

// A client without the token can't keep a connection: their number is limited, and an idle one
// stays open for minutes.
func TestAConnectionOfAStrangerIsClosed(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	url, _, _ := serve(t, w)
	for given, closed := range map[string]bool{"": true, "Bearer other": true, "Bearer " + token: false} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(structured("1")))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", jsonType)
		r.Header.Set("Authorization", given)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if answer.Close != closed {
			t.Errorf("%q: status %d, closed: %v", given, answer.StatusCode, answer.Close)
		}
		if err := answer.Body.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestHeadersAreBounded(t *testing.T) {
	t.Parallel()
	url, _, _ := serve(t, setup(t, nil))
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go func() {
		_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nce-extra: "+strings.Repeat("x", 64<<10)+"\r\n\r\n")
	}()
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("%v, %v, want 431", answer, err)
	}
}
