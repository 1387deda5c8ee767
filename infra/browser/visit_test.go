package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// latePage shows its data half a second after it is loaded, and is wider than a phone.
const latePage = `<!doctype html><title>Late</title><main style="width: 500px; height: 10px"></main><img src="/missing.png" width="10">
<script>onload = () => setTimeout(() => { document.querySelector('main').textContent = 'the data'; }, 500)</script>`

func openLatePage(t *testing.T) (ctx context.Context, url string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(latePage)) // the browser reports an error
	}))
	t.Cleanup(server.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	t.Cleanup(cancel)
	ctx, end, err := open(ctx)
	t.Cleanup(end)
	if err != nil {
		t.Fatal(err)
	}
	return ctx, server.URL
}

// axeStandIn finds one serious violation and one that isn't.
const axeStandIn = `window.axe = {run: async () => ({violations: [{id: 'image-alt', impact: 'critical'}, {id: 'region', impact: 'moderate'}]})}`

func TestAPageIsReadyOnceItShowsItsData(t *testing.T) {
	ctx, url := openLatePage(t)
	s := survey{times: 2, widths: []int{390}, axe: axeStandIn, shots: t.TempDir(), patience: patience}
	all, err := s.compareAll(ctx, []Spec{{Tool: "a test", Name: "late", URL: url, Ready: says("the data")}})
	if err != nil {
		t.Fatal(err)
	}
	one := all[0]
	for _, v := range append(one.Visits, one.First) {
		if v.Load <= 0 || v.Ready < v.Load+500 || v.Sent < float64(len(latePage)) || v.Asked < 2 {
			t.Errorf("%+v", v)
		}
	}
	l := one.Layouts[0]
	if len(one.Visits) != 2 || l.Overflow < 100 || l.Rules != 2 || strings.Join(l.Serious, " ") != "image-alt" {
		t.Errorf("%+v", one)
	}
	if _, err := os.Stat(filepath.Join(s.shots, "peers-01-390.png")); err != nil {
		t.Error(err)
	}
}

func TestAPageThatNeverShowsItsDataIsAnError(t *testing.T) {
	ctx, url := openLatePage(t)
	s := survey{times: 1, patience: 5 * time.Second}
	_, err := s.compareAll(ctx, []Spec{{Tool: "a test", Name: "late", URL: url, Ready: says("other data")}})
	if err == nil || !strings.Contains(err.Error(), "a test, late ("+url+"): it doesn't show its data within 5s") {
		t.Error(err)
	}
}

// A page asks no other machine, whatever the network allows.
func TestPagesReachNoOtherMachine(t *testing.T) {
	ctx, url := openLatePage(t)
	var answer string
	err := chromedp.Run(ctx, chromedp.Navigate(url), chromedp.Evaluate(`document.title = 'asked'; var asked = ''; fetch('http://example.org/').then(() => { asked = 'reached'; }, () => { asked = 'refused'; }); 0`, nil),
		chromedp.Poll(`asked`, &answer, chromedp.WithPollingTimeout(patience)))
	if err != nil || answer != "refused" {
		t.Error(answer, err)
	}
}

// environment makes a directory like a virtual environment whose program is a script.
func environment(t *testing.T, script string) (venv string) {
	t.Helper()
	venv = t.TempDir()
	if err := os.Mkdir(filepath.Join(venv, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(venv, "bin", "peer"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return venv
}

func TestAPeerThatEndsIsAnErrorWithItsLog(t *testing.T) {
	venv := environment(t, "echo the database is locked >&2\nexit 3\n")
	_, stop, err := start(t.Context(), venv, t.TempDir(), peer{name: "peer", command: []string{"peer", port}})
	if stop != nil {
		stop()
	}
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "the database is locked") {
		t.Error(err)
	}
}

// A server that ignores SIGTERM, and what it has started, are gone after stop.
func TestStopEndsTheServerAndWhatItStarted(t *testing.T) {
	venv, folder := environment(t, `trap "" TERM
sleep 3000 &
echo $! > child
exec python3 -c 'import http.server, signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), http.server.SimpleHTTPRequestHandler).serve_forever()' "$1"
`), t.TempDir()
	address, stop, err := start(t.Context(), venv, folder, peer{name: "peer", command: []string{"peer", port}})
	if err != nil {
		if stop != nil {
			stop()
		}
		t.Fatal(err)
	}
	stop()
	if _, err := http.Get(address); err == nil {
		t.Error("the server still answers")
	}
	text, err := os.ReadFile(filepath.Join(folder, "child"))
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || !gone(child) {
		t.Errorf("process %d is still running (%v)", child, err)
	}
}

// gone reports whether a process has ended, whether or not its parent has asked for its status.
func gone(id int) bool {
	if syscall.Kill(id, 0) != nil {
		return true
	}
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(id), "stat"))
	return err != nil || strings.Contains(string(status), ") Z ")
}
