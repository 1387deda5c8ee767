package main

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/functions/internal/peer/peertest"
)

// page is the console of a local stack in this process.
type page struct {
	*testing.T
	url, dataDir string
}

var printedConsole = regexp.MustCompile(`console:? +(http://\S+)/`)

// startUp runs `stoker up` until the test ends.
func startUp(t *testing.T) page {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	return startPage(t, filepath.Join(t.TempDir(), "data"), "up", "--slots", "0", "--console-listen", "127.0.0.1:0")
}

// startPage runs a command with a console until the test ends.
func startPage(t *testing.T, dataDir string, command ...string) page {
	t.Helper()
	p := page{T: t, dataDir: dataDir}
	ctx, stop := context.WithCancel(context.Background())
	out, in := io.Pipe()
	ended := make(chan int, 1)
	args := append([]string{"stoker", "--data", dataDir}, command...)
	go func() { ended <- execute(ctx, args, io.Discard, in); _ = in.Close() }()
	t.Cleanup(func() {
		stop()
		if status := <-ended; status != 0 {
			t.Errorf("%s left with %d", command[0], status)
		}
	})
	var said strings.Builder
	for part := make([]byte, 4096); ; {
		n, err := out.Read(part)
		said.Write(part[:n])
		if at := printedConsole.FindStringSubmatch(said.String()); at != nil {
			go func() { _, _ = io.Copy(io.Discard, out) }() // ends with the command
			p.url = at[1]
			return p
		}
		if err != nil {
			t.Fatal(err, said.String())
		}
	}
}

// get sends a request as the user of the stack.
func (p page) get(path string) int {
	p.Helper()
	answer, err := http.Get(p.url + path)
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { answer.Body.Close() })
	return answer.StatusCode
}

func (p page) token() string {
	p.Helper()
	text, err := os.ReadFile(filepath.Join(p.dataDir, "console.token"))
	if err != nil {
		p.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// post sends a form, without following the redirect.
func (p page) post(path string, form url.Values, cookies ...*http.Cookie) *http.Response {
	p.Helper()
	request, err := http.NewRequestWithContext(p.Context(), http.MethodPost, p.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		p.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for _, cookie := range cookies {
		request.AddCookie(&http.Cookie{Name: cookie.Name, Value: cookie.Value})
	}
	answer, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { answer.Body.Close() })
	return answer
}

// login enters a token; it returns no session if the token was rejected.
func (p page) login(token string) *http.Cookie {
	p.Helper()
	if cookies := p.post("/token", url.Values{"token": {token}}).Cookies(); len(cookies) == 1 {
		return cookies[0]
	}
	return nil
}

// acts reports whether a session may act: the pipeline that it would pause does not exist.
func (p page) acts(session *http.Cookie) bool {
	p.Helper()
	return p.post("/pause", url.Values{"pipeline": {"nosuch"}}, session).StatusCode != http.StatusUnauthorized
}

// endsSoon waits until a session has ended, as it does after a change of the token.
func (p page) endsSoon(session *http.Cookie) {
	p.Helper()
	const patience = 8 * time.Minute
	for began := time.Now(); p.acts(session); time.Sleep(50 * time.Millisecond) {
		if time.Since(began) > patience {
			p.Fatal("a session of the old token goes on")
		}
	}
}

// Another user of the machine can read nothing of a laptop's stack without the token.
func TestOtherUsersNeedTheTokenToRead(t *testing.T) {
	p := startUp(t)
	reads := []string{"/runs", "/dead", "/pipelines", "/studies", "/run?pipeline=a&run=b", "/artifact?ref=s3://stoker/x", "/download?ref=s3://stoker/x",
		"/study/picture.svg?pipeline=a&id=b", "/lineage?pipeline=a", "/live/runs", "/live/dead", "/metrics"}
	var requests []peertest.Request
	for _, path := range reads {
		requests = append(requests, peertest.Request{URL: p.url + path, Open: strings.HasPrefix(path, "/live")})
	}
	for i, answer := range peertest.Send(t, requests...) {
		if answer.Status != http.StatusForbidden && answer.Status != http.StatusUnauthorized {
			t.Errorf("another user reads %s: %d %s\n%.300s", reads[i], answer.Status, answer.Error, answer.Body)
		}
	}
	refused := peertest.Send(t, requests[0])[0]
	for _, words := range []string{"another user of this machine", "Enter the token", `href="/token?then=`} {
		if !strings.Contains(refused.Body, words) {
			t.Errorf("the page for another user lacks %q:\n%s", words, refused.Body)
		}
	}
	session := p.login(p.token())
	if session == nil {
		t.Fatal("the token is refused")
	}
	cookie := map[string]string{"Cookie": session.Name + "=" + session.Value}
	bearer := map[string]string{"Authorization": "Bearer " + p.token()}
	for i, answer := range peertest.Send(t, peertest.Request{URL: p.url + "/runs", Header: cookie}, peertest.Request{URL: p.url + "/live/runs", Header: cookie, Open: true},
		peertest.Request{URL: p.url + "/metrics", Header: bearer}, peertest.Request{URL: p.url + "/healthz"}, peertest.Request{URL: p.url + "/token"}) {
		if answer.Status != http.StatusOK {
			t.Errorf("request %d of another user with the token, or without need of one: %d %s", i, answer.Status, answer.Error)
		}
	}
	for _, path := range []string{"/runs", "/metrics", "/live/runs"} {
		if status := p.get(path); status != http.StatusOK {
			t.Errorf("the stack's own user reads %s: %d", path, status)
		}
	}
}

// However many streams another user opens, the stack's own user can read pages and follow them.
func TestStreamsOfAnotherUserDoNotLockOutTheOwner(t *testing.T) {
	p := startUp(t)
	requests := make([]peertest.Request, 600)
	for i := range requests {
		requests[i] = peertest.Request{URL: p.url + "/live/runs", Open: true}
	}
	peertest.Send(t, requests...)
	for _, path := range []string{"/runs", "/live/runs"} {
		if status := p.get(path); status != http.StatusOK {
			t.Errorf("the stack's own user reads %s: %d", path, status)
		}
	}
}

// A new token in the data folder ends the sessions of the old one while the stack runs.
func TestANewTokenEndsAllSessions(t *testing.T) {
	p := startUp(t)
	old, session := p.token(), p.login(p.token())
	if session == nil || !p.acts(session) {
		t.Fatal("the token is refused")
	}
	const renewed = "a-token-that-is-new"
	if err := os.WriteFile(filepath.Join(p.dataDir, "console.token"), []byte(renewed+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.endsSoon(session)
	if p.login(old) != nil {
		t.Error("the old token is still taken")
	}
	if p.login(renewed) == nil {
		t.Error("the new token is refused")
	}
}

// A separate console has the same rules, on loopback; its token is that of a file, which may
// change.
func TestAConsoleByItselfKeepsOtherUsersOutToo(t *testing.T) {
	stack := startUp(t)
	file := filepath.Join(t.TempDir(), "token")
	write := func(token string) {
		if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("the-first-token-of-all")
	p := startPage(t, stack.dataDir, "console", "--console-listen", "127.0.0.1:0", "--token-file", file)
	for _, path := range []string{"/runs", "/dead", "/live/runs", "/metrics"} {
		answer := peertest.Send(t, peertest.Request{URL: p.url + path, Open: true})[0]
		if answer.Status != http.StatusForbidden && answer.Status != http.StatusUnauthorized {
			t.Errorf("another user reads %s: %d %s", path, answer.Status, answer.Error)
		}
		if status := p.get(path); status != http.StatusOK {
			t.Errorf("its own user reads %s: %d", path, status)
		}
	}
	session := p.login("the-first-token-of-all")
	if session == nil {
		t.Fatal("the token is refused")
	}
	write("the-second-token-of-all")
	p.endsSoon(session)
	// As in the chart, behind a port-forward.
	open := startPage(t, stack.dataDir, "console", "--console-listen", "127.0.0.1:0", "--read-only", "--open")
	if answer := peertest.Send(t, peertest.Request{URL: open.url + "/runs"})[0]; answer.Status != http.StatusOK {
		t.Errorf("another user reads what is open to everybody: %d %s", answer.Status, answer.Error)
	}
}
