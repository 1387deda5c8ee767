package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/storage"
)

// TestOnlyTheTokenPermitsToAct tries each action without the token, from another site, and with it.
func TestOnlyTheTokenPermitsToAct(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.apply(penguin)
	forms := map[string]url.Values{
		"/pause": {"pipeline": {"penguin"}}, "/resume": {"pipeline": {"penguin"}}, "/cancel": {"pipeline": {"penguin"}, "run": {"monday"}},
		"/dead/retry": {"number": {"1"}}, "/dead/drop": {"number": {"1"}},
	}
	// The cookie does not contain the token itself.
	guess := func(r *http.Request) { r.AddCookie(cookie(&http.Request{Host: r.URL.Host}, token)) }
	elsewhere := func(r *http.Request) { w.trusted(r); r.Header.Set("Sec-Fetch-Site", "cross-site") }
	origin := func(r *http.Request) { w.trusted(r); r.Header.Set("Origin", "https://evil.example") }
	for path, form := range forms {
		for name, tc := range map[string]struct {
			as     func(*http.Request)
			status int
		}{"nobody": {func(*http.Request) {}, 401}, "a guess": {guess, 401}, "another site": {elsewhere, 403}, "another origin": {origin, 403}} {
			if status, _ := w.post(path, form, tc.as); status != tc.status {
				t.Errorf("%s as %s: %d, want %d", path, name, status, tc.status)
			}
		}
		if status, _ := w.get(path, w.trusted); status != http.StatusNotFound && status != http.StatusMethodNotAllowed {
			t.Errorf("GET %s does something: %d", path, status)
		}
	}
	if admission, err := runs.Open(w.bus, runs.Options{}).ReadAdmission(t.Context(), "penguin"); err != nil || admission.Paused {
		t.Fatalf("paused without permission: %+v, %v", admission, err)
	}
	if status, body := w.post("/pause", forms["/pause"], w.trusted); status != http.StatusSeeOther {
		t.Errorf("refused with the token: %d %s", status, body)
	}
	w.sees("/pipelines", "paused")
	if status, _ := w.post("/resume", forms["/resume"], w.trusted); status != http.StatusSeeOther {
		t.Errorf("resume: %d", status)
	}
	if admission, err := runs.Open(w.bus, runs.Options{}).ReadAdmission(t.Context(), "penguin"); err != nil || admission.Paused {
		t.Errorf("still paused: %+v, %v", admission, err)
	}
}

func TestARunIsCancelled(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.apply(penguin)
	w.publish(events.Event{ID: "h", Source: "/up", Pipeline: "penguin", Run: "monday", Data: &events.ExamplesReady{Examples: []events.Examples{{URI: "s3://bkt/ex"}}}})
	w.dispatched()
	if _, body := w.get("/run?pipeline=penguin&run=monday"); strings.Contains(body, `action="/cancel"`) {
		t.Error("the button is shown without permission to cancel")
	}
	w.eventually("the button", func() bool {
		_, body := w.get("/run?pipeline=penguin&run=monday", w.trusted)
		return strings.Contains(body, `action="/cancel"`)
	})
	form := url.Values{"pipeline": {"penguin"}, "run": {"monday"}}
	if status, body := w.post("/cancel", form, w.trusted); status != http.StatusSeeOther {
		t.Fatalf("%d %s", status, body)
	}
	w.sees("/run?pipeline=penguin&run=monday", "cancelled")
	if status, body := w.post("/cancel", form, w.trusted); status != http.StatusConflict {
		t.Errorf("cancelled twice: %d %s", status, body)
	}
}

func TestADeadLetterIsRetriedOrDropped(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.publish(ready("monday"))
	w.dispatched() // the pipeline does not exist: the event is dead-lettered
	w.sees("/dead?by=letter", "monday", "expected the name of an applied pipeline")
	_, body := w.get("/dead-letter?number=1")
	for _, text := range []string{"s3://bkt/graph", "events.transform-ready.penguin.monday", "dead retry 1"} {
		if !strings.Contains(body, text) {
			t.Errorf("the letter lacks %s", text)
		}
	}
	form := url.Values{"number": {"1"}}
	if status, _ := w.post("/dead/retry", form, w.trusted); status < 400 {
		t.Errorf("what is refused again was retried: %d", status)
	}
	w.apply(penguin)
	if status, body := w.post("/dead/retry", form, w.trusted); status != http.StatusSeeOther {
		t.Fatalf("%d %s", status, body)
	}
	w.sees("/dead", "There are no dead letters")
	w.sees("/runs", "queued")
	if status, _ := w.post("/dead/drop", form, w.trusted); status != http.StatusNotFound {
		t.Errorf("a letter that is gone was dropped: %d", status)
	}
}

// The page of a run that failed links to its dead letter, as long as that exists.
func TestARunNamesItsDeadLetter(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.publish(ready("monday"), ready("tuesday"))
	w.dispatched() // the pipeline does not exist: the events are dead-lettered
	w.publish(failed("monday", "boom"), failed("tuesday", "boom"))
	if err := w.model.readDead(t.Context()); err != nil {
		t.Fatal(err)
	}
	const page = "/run?pipeline=penguin&run=monday"
	w.sees(page, `<a class="button" href="/dead-letter?number=1">Dead letter 1</a>`, "dead retry 1")
	w.sees("/run?pipeline=penguin&run=tuesday", `href="/dead-letter?number=2"`)
	if status, body := w.post("/dead/drop", url.Values{"number": {"1"}}, w.trusted); status != http.StatusSeeOther {
		t.Fatalf("%d %s", status, body)
	}
	if _, body := w.get(page); strings.Contains(body, "ead letter 1") || strings.Contains(body, "dead retry") {
		t.Errorf("a letter that is gone is named:\n%s", body)
	}
	if _, body := w.get(page); strings.Count(body, ">boom<") != 1 {
		t.Errorf("what went wrong is said %d times:\n%s", strings.Count(body, ">boom<"), body)
	}
}

func TestTheTokenIsEnteredOnce(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	began := time.Now()
	if status, body := w.post("/token", url.Values{"token": {"wrong"}}); status != http.StatusUnauthorized || !strings.Contains(body, "Wrong token") {
		t.Errorf("a wrong one: %d", status)
	}
	if time.Since(began) < wrongPause {
		t.Error("guessing is not slowed down")
	}
	status, _, header := w.ask(http.MethodPost, "/token", url.Values{"token": {" " + token + " "}, "then": {"/dead?q=x"}})
	if status != http.StatusSeeOther || header.Get("Location") != "/dead?q=x" {
		t.Errorf("%d to %s", status, header.Get("Location"))
	}
	for _, then := range []string{"https://evil.example/", "//evil.example/", `/\evil.example`, "javascript:alert(1)", ""} {
		if _, _, header := w.ask(http.MethodPost, "/token", url.Values{"token": {token}, "then": {then}}); header.Get("Location") != "/" {
			t.Errorf("then=%s leads to %s", then, header.Get("Location"))
		}
	}
	if _, _, header := w.ask(http.MethodPost, "/leave", nil, w.trusted); !strings.Contains(header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("leaving: %q", header.Get("Set-Cookie"))
	}
}

func TestWithoutATokenNoClientActs(t *testing.T) {
	t.Parallel()
	w := setup(t, func(o *Options) { o.Token = "" })
	empty := func(r *http.Request) { r.AddCookie(cookie(&http.Request{Host: r.URL.Host}, "")) }
	if status, body := w.post("/pause", url.Values{"pipeline": {"penguin"}}, empty); status != http.StatusForbidden || !strings.Contains(body, "read-only") {
		t.Errorf("%d %s", status, body)
	}
	if status, _ := w.post("/token", url.Values{"token": {""}}); status != http.StatusUnauthorized {
		t.Errorf("no token was entered: %d", status)
	}
}

func TestAPrivateConsoleIsReadWithTheToken(t *testing.T) {
	t.Parallel()
	w := setup(t, func(o *Options) { o.Readers = TokenHolders })
	for _, path := range []string{"/runs", "/live/runs", "/download?ref=s3://bkt/x", "/run?pipeline=a&run=b"} {
		status, _, header := w.ask(http.MethodGet, path, nil)
		if status != http.StatusSeeOther || !strings.HasPrefix(header.Get("Location"), "/token?then=") {
			t.Errorf("%s: %d to %s", path, status, header.Get("Location"))
		}
	}
	if status, _ := w.get("/runs", w.trusted); status != http.StatusOK {
		t.Errorf("with the token: %d", status)
	}
	if status, _ := w.get("/static/console.css"); status != http.StatusOK {
		t.Errorf("the page for the token has no look: %d", status)
	}
}

func TestOtherHostNamesAreRefused(t *testing.T) {
	t.Parallel()
	w := setup(t, func(o *Options) { o.Hosts = []string{"stoker.example.org"} })
	for host, want := range map[string]int{
		"localhost:8790": 200, "127.0.0.1": 200, "[::1]:80": 200, "stoker.example.org": 200, "STOKER.example.org:443": 200,
		"evil.example": 421, "127.0.0.1.evil.example": 421, "169.254.1.1": 421, "localhost.evil.example:8790": 421,
	} {
		if status, _ := w.get("/runs", func(r *http.Request) { r.Host = host }); status != want {
			t.Errorf("as %s: %d, want %d", host, status, want)
		}
	}
}

func TestSecurityHeadersAreSet(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	for _, path := range []string{"/runs", "/nosuch", "/static/console.js", "/token"} {
		_, body, header := w.ask(http.MethodGet, path, nil)
		csp := header.Get("Content-Security-Policy")
		if strings.Contains(csp, "unsafe") || !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "frame-ancestors 'none'") {
			t.Errorf("%s: policy %q", path, csp)
		}
		if header.Get("X-Content-Type-Options") != "nosniff" || header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: headers %v", path, header)
		}
		for _, inline := range []string{" style=", " onclick=", "<script>", "<style", "http://www.", "https://"} {
			if !strings.HasPrefix(path, "/static") && strings.Contains(body, inline) {
				t.Errorf("%s holds %q, which the policy forbids or which is elsewhere", path, inline)
			}
		}
	}
}

func TestNothingOutsideTheRootIsShown(t *testing.T) {
	t.Parallel()
	w := setup(t, func(o *Options) { o.Root = storage.Ref{Bucket: "bkt", Key: "mine"} })
	w.shelve("s3://bkt/mine/model/a.html", "<script>alert(1)</script>")
	w.shelve("s3://bkt/mine/model/b/c.txt", "see")
	w.shelve("s3://bkt/mine2/model/secret.txt", "hunter2")
	w.shelve("s3://other/secret.txt", "hunter2")
	for _, ref := range []string{"s3://bkt/mine2/model/secret.txt", "s3://other/secret.txt", "s3://bkt/mine/../mine2/model/secret.txt", "s3://bkt/mine", "file:///etc/passwd", "s3://bkt/mine/%00"} {
		for _, path := range []string{"/download?ref=", "/artifact?ref=", "/download?tar=1&ref="} {
			if status, body := w.get(path + url.QueryEscape(ref)); status < 400 || strings.Contains(body, "hunter2") {
				t.Errorf("%s%s: %d", path, ref, status)
			}
		}
	}
	status, body, header := w.ask(http.MethodGet, "/download?ref=s3://bkt/mine/model/a.html", nil)
	if status != 200 || body != "<script>alert(1)</script>" || header.Get("Content-Type") != "application/octet-stream" ||
		!strings.HasPrefix(header.Get("Content-Disposition"), "attachment") {
		t.Errorf("%d %q %v", status, body, header)
	}
	_, body = w.get("/artifact?ref=s3://bkt/mine/model")
	for _, want := range []string{"a.html", "b/c.txt", "2 files", "Download all"} {
		if !strings.Contains(body, want) {
			t.Errorf("the folder's page lacks %s", want)
		}
	}
	status, body, header = w.ask(http.MethodGet, "/download?tar=1&ref=s3://bkt/mine/model", nil)
	if status != 200 || !strings.Contains(body, "b/c.txt") || !strings.Contains(body, "ustar") || !strings.Contains(header.Get("Content-Disposition"), "model.tar") {
		t.Errorf("%d %v", status, header)
	}
}
