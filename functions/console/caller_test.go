package console

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/functions/internal/peer"
)

// ofUser sets up a console for its own user; owns says whether connections are that user's.
func ofUser(t *testing.T, owns bool, change ...func(*Options)) *world {
	t.Helper()
	if !peer.Supported {
		t.Skip("this system does not name the user of a connection")
	}
	return setup(t, func(o *Options) {
		o.Readers, o.sameUser = SameUser, func(net.Conn) bool { return owns }
		o.Probes = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("probe")) })
		for _, one := range change {
			one(o)
		}
	})
}

// Each address that reads something is closed to other users of the machine. The page that they get
// contains no secret.
func TestAnotherUserReadsNothing(t *testing.T) {
	t.Parallel()
	w := ofUser(t, false)
	w.deadLetterOne()
	if err := w.model.readDead(t.Context()); err != nil {
		t.Fatal(err)
	}
	paths := []string{"/download", "/study/picture.svg", "/metrics", "/nosuch"}
	for path, p := range w.allPages() {
		paths = append(paths, path)
		if len(p.fragments) > 0 {
			paths = append(paths, "/live"+path)
		}
	}
	for _, path := range paths {
		if strings.HasPrefix(path, "/live") {
			if answer := w.start(path); answer.StatusCode != http.StatusForbidden {
				t.Errorf("another user follows %s: %d", path, answer.StatusCode)
			}
			continue
		}
		status, body := w.get(path)
		if status != http.StatusForbidden && (path != "/metrics" || status != http.StatusUnauthorized) {
			t.Errorf("another user reads %s: %d", path, status)
		}
		if strings.Contains(body, `class="badge"`) {
			t.Errorf("%s says how many dead letters there are", path)
		}
	}
	if _, body := w.get("/run?pipeline=a&run=b"); !strings.Contains(body, `href="/token?then=%2Frun%3Fpipeline%3Da%26run%3Db"`) {
		t.Errorf("no way to the page on which the token is entered:\n%s", body)
	}
	for _, path := range []string{"/token", "/static/console.css", "/healthz", "/readyz"} {
		if status, _ := w.get(path); status != http.StatusOK {
			t.Errorf("%s: %d", path, status)
		}
	}
	if _, body := w.get("/dead", with(w.login())); !strings.Contains(body, `class="badge"`) {
		t.Error("a session of another user does not read the page")
	}
	if status, _ := w.post("/pause", url.Values{"pipeline": {"penguin"}}); status != http.StatusUnauthorized {
		t.Errorf("another user acts: %d", status)
	}
}

func TestTheOwnerReadsAndDoesNotActWithoutTheToken(t *testing.T) {
	t.Parallel()
	w := ofUser(t, true)
	for _, path := range []string{"/runs", "/dead", "/metrics"} {
		if status, _ := w.get(path); status != http.StatusOK {
			t.Errorf("%s: %d", path, status)
		}
	}
	if !w.opens("/live/runs") {
		t.Error("no stream is accepted")
	}
	if status, _ := w.post("/pause", url.Values{"pipeline": {"penguin"}}); status != http.StatusUnauthorized {
		t.Errorf("acts without the token: %d", status)
	}
}

// A proxy that runs as the console's user accepts every client that can connect to it: the requests
// that it forwards are not the owner's.
func TestARequestThatAProxyForwardsIsNotTheOwners(t *testing.T) {
	t.Parallel()
	w := ofUser(t, true)
	for _, name := range []string{"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip", "Forwarded", "Via"} {
		if status, _ := w.get("/runs", func(r *http.Request) { r.Header.Set(name, "for=192.0.2.1") }); status != http.StatusForbidden {
			t.Errorf("with %s: %d", name, status)
		}
	}
}

func TestAReadOnlyConsoleIsReadByItsOwnerAlone(t *testing.T) {
	t.Parallel()
	without := func(o *Options) { o.Token = "" }
	status, body := ofUser(t, false, without).get("/runs")
	if status != http.StatusForbidden || !strings.Contains(body, "only its own user can read it") || strings.Contains(body, "/token") {
		t.Errorf("another user: %d\n%s", status, body)
	}
	if status, _ := ofUser(t, true, without).get("/runs"); status != http.StatusOK {
		t.Errorf("its owner: %d", status)
	}
}

// A handler without connections, and options without readers, let no client read.
func TestTheDefaultLetsNoClientRead(t *testing.T) {
	t.Parallel()
	for _, readers := range []Readers{TokenHolders, SameUser} {
		w := setup(t, func(o *Options) { o.Readers = readers })
		bare := httptest.NewServer(w.handler)
		defer bare.Close()
		w.url = bare.URL
		if status, _ := w.get("/runs"); status == http.StatusOK {
			t.Errorf("readers %d: a page is read", readers)
		}
	}
}

func TestAnotherSiteOpensNoStream(t *testing.T) {
	t.Parallel()
	w := ofUser(t, true)
	for site, want := range map[string]int{"cross-site": 403, "same-site": 403, "same-origin": 200, "none": 200} {
		answer := w.start("/live/runs", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", site) })
		if answer.StatusCode != want {
			t.Errorf("a stream for %s: %d, want %d", site, answer.StatusCode, want)
		}
	}
}

func TestTheNumberOfSessionsIsBounded(t *testing.T) {
	t.Parallel()
	clock := newClock()
	s := newSessions(token, clock.now)
	login := func() string {
		clock.advance(time.Second)
		id, ok := s.login(token)
		if !ok {
			t.Fatal("the token is refused")
		}
		return id
	}
	first, second := login(), login()
	for range maxSessions - 2 {
		login()
	}
	s.use(s.find(first))
	ended := s.find(second)
	login()
	if len(s.open) != maxSessions || s.find(first) == nil || s.find(second) != nil || ended.Err() == nil {
		t.Errorf("%d sessions; the one that was just used is there: %t; the one that was used longest ago: %t", len(s.open), s.find(first) != nil, s.find(second) != nil)
	}
	clock.advance(sessionIdle)
	login()
	if len(s.open) != 1 {
		t.Errorf("%d sessions are kept, of which all but one are over", len(s.open))
	}
}

// The monotonic clock stops while the machine sleeps: a session measured by it would last longer.
func TestASessionEndsByTheWallClock(t *testing.T) {
	t.Parallel()
	s := newSessions(token, time.Now)
	id, _ := s.login(token)
	one := s.find(id)
	s.use(one)
	for _, at := range []time.Time{one.begun, one.used, s.now()} {
		if at != at.Round(0) { // it drops the monotonic reading
			t.Errorf("%v has a monotonic reading", at)
		}
	}
}

// Requests of a session that are still being answered, such as a download, end with it.
func TestARequestEndsWithItsSession(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	session, begun, ended := w.login(), make(chan struct{}), make(chan struct{})
	handler := w.identify(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
		close(ended)
	}))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/download", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = request.URL.Host
	with(session)(request)
	go handler.ServeHTTP(httptest.NewRecorder(), request)
	<-begun
	w.SetToken("another token")
	select {
	case <-ended:
	case <-time.After(patience / 10):
		t.Error("the request continues")
	}
}

// Another server of the same host can set a cookie of this name, even for some paths only: it is
// then sent first.
func TestACookieOfAnotherServerDoesNotHideASession(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.apply(penguin)
	session := w.login()
	status, _ := w.post("/pause", url.Values{"pipeline": {"penguin"}}, func(r *http.Request) {
		r.AddCookie(&http.Cookie{Name: session.Name, Value: "of-another-server"})
	}, with(session))
	if status != http.StatusSeeOther {
		t.Errorf("%d", status)
	}
}

// A login replaces the session that the browser had.
func TestALoginEndsTheSessionBefore(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.apply(penguin)
	before := w.login()
	after := w.login(with(before))
	if before.Value == after.Value || w.acts(before) || !w.acts(after) {
		t.Errorf("the session before acts: %t, the new one: %t", w.acts(before), w.acts(after))
	}
}

func TestClientsHaveStreamLimitsOfTheirOwn(t *testing.T) {
	t.Parallel()
	var l streamLimits
	from := func(address string) *http.Request {
		r := newRequest(t)
		r.RemoteAddr = address
		return r
	}
	fill := func(address func(i int) string) (n int, releases []func()) {
		for i := range 1000 {
			release, ok := l.acquire(from(address(i)))
			if !ok {
				continue
			}
			releases = append(releases, release)
			n++
		}
		return n, releases
	}
	one, releases := fill(func(i int) string { return fmt.Sprintf("127.0.0.%d:%d", i%250+1, i+1) })
	if one != maxClientStreams[anonymousStreams] {
		t.Errorf("%d streams of one client that has many addresses of loopback", one)
	}
	if v6, _ := fill(func(i int) string { return fmt.Sprintf("[2001:db8::%x]:1", i) }); v6 != maxClientStreams[anonymousStreams] {
		t.Errorf("%d streams of one /64", v6)
	}
	if _, ok := l.acquire(from("192.0.2.1:1")); !ok {
		t.Error("the limit of another client is reached")
	}
	if all, _ := fill(func(i int) string { return fmt.Sprintf("10.0.%d.%d:1", i/250, i%250) }); all > maxStreams[anonymousStreams] {
		t.Errorf("%d streams of anonymous clients", all)
	}
	releases[0]()
	if _, ok := l.acquire(from("198.51.100.1:1")); !ok {
		t.Error("a released stream still counts")
	}
}
