package console

import (
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs"
)

// clock is a clock that a test moves.
type clock struct {
	start time.Time
	moved atomic.Int64
}

func newClock() *clock { return &clock{start: time.Now()} }

func (c *clock) now() time.Time          { return c.start.Add(time.Duration(c.moved.Load())) }
func (c *clock) advance(d time.Duration) { c.moved.Add(int64(d)) }

// login enters the token as a browser does, and returns the cookie that the console sets.
func (w *world) login(change ...func(*http.Request)) *http.Cookie {
	w.t.Helper()
	status, body, header := w.ask(http.MethodPost, "/token", url.Values{"token": {token}}, change...)
	cookies := (&http.Response{Header: header}).Cookies()
	if status != http.StatusSeeOther || len(cookies) != 1 {
		w.t.Fatalf("login: %d, cookies %v: %s", status, cookies, body)
	}
	return cookies[0]
}

// with sends a cookie, as a browser does that has it.
func with(cookie *http.Cookie) func(*http.Request) {
	return func(r *http.Request) { r.AddCookie(&http.Cookie{Name: cookie.Name, Value: cookie.Value}) }
}

// acts reports whether a request with this cookie may act.
func (w *world) acts(cookie *http.Cookie) bool {
	w.t.Helper()
	status, body := w.post("/pause", url.Values{"pipeline": {"penguin"}}, with(cookie))
	if status != http.StatusSeeOther && status != http.StatusUnauthorized {
		w.t.Fatalf("pause: %d %s", status, body)
	}
	return status == http.StatusSeeOther
}

func TestTheCookieOfASession(t *testing.T) {
	t.Parallel()
	w := setup(t, func(o *Options) { o.Hosts = []string{"stoker.example.org"} })
	_, port, _ := strings.Cut(strings.TrimPrefix(w.url, "http://"), ":")
	as := func(host string) func(*http.Request) { return func(r *http.Request) { r.Host = host } }
	tls := func(r *http.Request) { r.Header.Set("X-Forwarded-Proto", "https") }
	values := map[string]bool{}
	for what, tc := range map[string]struct {
		name   string
		secure bool
		change []func(*http.Request)
	}{
		"loopback":              {name: "stoker-" + port},
		"a forwarded port":      {"stoker-8081", false, []func(*http.Request){as("localhost:8081")}},
		"port 80":               {"stoker-80", false, []func(*http.Request){as("localhost")}},
		"a proxy with TLS":      {"__Host-stoker-443", true, []func(*http.Request){as("stoker.example.org"), tls}},
		"TLS on its own port":   {"__Host-stoker-8443", true, []func(*http.Request){as("stoker.example.org:8443"), tls}},
		"a port that is no one": {"stoker-80", false, []func(*http.Request){as("localhost:x;Path=y")}},
	} {
		cookie := w.login(tc.change...)
		if cookie.Name != tc.name || cookie.Secure != tc.secure {
			t.Errorf("%s: cookie %q, Secure %t; want %q, %t", what, cookie.Name, cookie.Secure, tc.name, tc.secure)
		}
		if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/" || cookie.Domain != "" {
			t.Errorf("%s: cookie %s: want HttpOnly, SameSite=Strict, Path=/ and no Domain", what, cookie.Raw)
		}
		const characters = 43 // 256 bits in base64
		if len(cookie.Value) != characters || values[cookie.Value] || strings.Contains(cookie.Raw, token) {
			t.Errorf("%s: value %q: want %d random characters", what, cookie.Value, characters)
		}
		values[cookie.Value] = true
	}
}

// Behind TLS a cookie that plain HTTP could have set, without the prefix, is not a session.
func TestBehindTLSOnlyTheSecureCookieIsASession(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.apply(penguin)
	host := func(r *http.Request) { r.Host = "localhost:443"; r.Header.Set("X-Forwarded-Proto", "https") }
	cookie := w.login(host)
	form := url.Values{"pipeline": {"penguin"}}
	if status, _ := w.post("/pause", form, host, with(cookie)); status != http.StatusSeeOther {
		t.Errorf("the secure cookie: %d", status)
	}
	cookie.Name = strings.TrimPrefix(cookie.Name, "__Host-")
	if status, _ := w.post("/pause", form, host, with(cookie)); status != http.StatusUnauthorized {
		t.Errorf("the same session in a cookie without the prefix: %d", status)
	}
}

func TestASessionEndsWhenItIsIdle(t *testing.T) {
	t.Parallel()
	clock := newClock()
	w := setup(t, func(o *Options) { o.Now = clock.now })
	w.apply(penguin)
	cookie := w.login()
	for range 3 { // used, it stays open
		clock.advance(12*time.Hour - time.Minute)
		if !w.acts(cookie) {
			t.Fatal("a session that is used ended before its time")
		}
	}
	clock.advance(12 * time.Hour)
	if w.acts(cookie) {
		t.Error("a session that was idle for 12 hours goes on")
	}
}

func TestASessionEndsAfterAWeek(t *testing.T) {
	t.Parallel()
	clock := newClock()
	w := setup(t, func(o *Options) { o.Now = clock.now })
	w.apply(penguin)
	cookie := w.login()
	for range 28 {
		if !w.acts(cookie) {
			t.Fatal("a session that is used ended before its time")
		}
		clock.advance(6 * time.Hour)
	}
	if w.acts(cookie) {
		t.Error("a session goes on after 7 days")
	}
}

func TestLoggingOutEndsTheSessionOnTheServer(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.apply(penguin)
	cookie, other := w.login(), w.login()
	status, _, header := w.ask(http.MethodPost, "/leave", nil, with(cookie))
	cleared := (&http.Response{Header: header}).Cookies()
	if status != http.StatusSeeOther || len(cleared) != 1 || cleared[0].Name != cookie.Name || cleared[0].MaxAge >= 0 {
		t.Errorf("leave: %d, %v", status, cleared)
	}
	if w.acts(cookie) {
		t.Error("a copy of the cookie acts after the logout")
	}
	if !w.acts(other) {
		t.Error("another session ended too")
	}
}

// The updates of a page that is left open don't extend its session.
func TestUpdatesDoNotUseASession(t *testing.T) {
	t.Parallel()
	clock := newClock()
	w := setup(t, func(o *Options) { o.Now = clock.now })
	w.apply(penguin)
	cookie := w.login()
	clock.advance(11 * time.Hour)
	if !w.opens("/live/runs", with(cookie)) {
		t.Fatal("no stream")
	}
	clock.advance(2 * time.Hour)
	if w.acts(cookie) {
		t.Error("a session goes on, 13 hours after its last page")
	}
}

// A stream that a session opened ends with the session.
func TestAStreamEndsWithItsSession(t *testing.T) {
	t.Parallel()
	for what, end := range map[string]func(*world, *clock, *http.Cookie){
		"logout":      func(w *world, _ *clock, cookie *http.Cookie) { w.post("/leave", nil, with(cookie)) },
		"a new token": func(w *world, _ *clock, _ *http.Cookie) { w.SetToken("another token") },
		"idle":        func(w *world, clock *clock, _ *http.Cookie) { clock.advance(13 * time.Hour) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			clock := newClock()
			w := setup(t, func(o *Options) { o.Now = clock.now })
			cookie := w.login()
			s := w.follow("/runs", "", with(cookie))
			s.next()
			end(w, clock, cookie)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				for s.lines.Scan() {
				}
			}()
			for i := 0; ; i++ {
				select {
				case <-ended:
					return
				case <-time.After(20 * time.Millisecond):
				}
				if i > 500 {
					t.Fatal("the stream goes on")
				}
				w.model.Change(func(x *runs.Index) {
					x.ApplyEvent(events.Recorded{Event: ready("monday"), Message: events.Message{Sequence: uint64(i), Stored: time.Now()}})
				})
			}
		})
	}
}

// A client that opens too many streams reaches its own limit, not that of others.
func TestStreamsOfOthersDoNotLockOutASession(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	cookie := w.login()
	const streams = 600
	refused := 0
	for range streams {
		if !w.opens("/live/runs") {
			refused++
		}
	}
	if refused == 0 {
		t.Error("anonymous clients may open streams without end")
	}
	if status, _ := w.get("/runs", with(cookie)); status != http.StatusOK {
		t.Errorf("the page of a session: %d", status)
	}
	if !w.opens("/live/runs", with(cookie)) {
		t.Error("a session has no place for its stream")
	}
	other, more := w.login(), 0
	for range streams {
		if w.opens("/live/runs", with(cookie)) {
			more++
		}
	}
	if more >= streams {
		t.Error("a session may open streams without end")
	}
	if !w.opens("/live/runs", with(other)) {
		t.Error("the streams of one session lock out another")
	}
	w.SetToken("another token") // ends the streams of sessions
	w.eventually("their places are released", func() bool {
		w.streams.mu.Lock()
		defer w.streams.mu.Unlock()
		return w.streams.classes[sessionStreams] == 0 && len(w.streams.clients) == 1
	})
}

// opens opens a stream that stays open until the test ends, and reports whether it was within the
// limits.
func (w *world) opens(path string, change ...func(*http.Request)) bool {
	w.t.Helper()
	answer := w.start(path, change...)
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusServiceUnavailable {
		w.t.Fatalf("%s: %s", path, answer.Status)
	}
	return answer.StatusCode == http.StatusOK
}

// start sends a request whose answer stays unread until the test ends.
func (w *world) start(path string, change ...func(*http.Request)) *http.Response {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.url+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, one := range change {
		one(request)
	}
	answer, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { answer.Body.Close() })
	return answer
}
