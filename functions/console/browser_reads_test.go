//go:build browser

package console

import (
	"bufio"
	"context"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
)

// plainPage is a page as a reader without JavaScript sees it.
type plainPage struct {
	URL, Text          string
	Pictures, Scripted int
}

// TestBrowserReadsPagesWithoutScripts checks that text, tables and pictures need no JavaScript.
func TestBrowserReadsPagesWithoutScripts(t *testing.T) {
	b, w := openBrowser(t), setup(t, nil)
	all := w.crowd(30, 20)
	want := map[string]struct {
		words    []string
		pictures int
	}{
		"/run?":                   {[]string{"Curves", "loss by step", "Events", "model.trained"}, 1},
		"/study?":                 {[]string{"Parallel coordinates", "Importance", "Best at step", "stopped at 20"}, 11},
		"/lineage?":               {[]string{"Lineage of penguin/", "By digest", "Used as"}, 1},
		"/revisions?name=penguin": {[]string{"From revision 3 to 4", "Compare", "was:", "All revisions", "trainer.max_crashes"}, 0},
		"/":                       {[]string{"Overview", "active-4", "no worker", "Throughput", "By hour", "ResourceExhausted", "Studies that run"}, 0},
		"/workers":                {[]string{"gpu-node-1", "2 × NVIDIA", "draining", "Gone within the last hour"}, 0},
		"/dead":                   {[]string{"Dead letters", "got nosuch"}, 0},
		"/dead-letter?":           {[]string{"Why", "The message as received"}, 0},
		"/compare?":               {[]string{"Curves", "Results"}, 1},
		"/studies":                {[]string{"Studies", "of 20", "all trials done"}, 0},
	}
	for _, page := range ask[[]plainPage](t, b, append([]string{"-plain"}, all...)...) {
		for path, of := range want {
			query := strings.Contains(path, "?")
			if query && !strings.HasPrefix(page.URL, w.url+path) || !query && page.URL != w.url+path {
				continue
			}
			// Failed runs, and an active one.
			if path == "/run?" && !strings.Contains(page.URL, "run=run-0028") {
				of.words, of.pictures = []string{"Events"}, 0
			}
			switch { // no trial matches the filter; no trial of the other study was stopped
			case path == "/study?" && strings.Contains(page.URL, "&q="):
				of.words = []string{"Parallel coordinates", "Importance", "No trial matches."}
			case path == "/study?" && strings.Contains(page.URL, "id=cdcd"):
				of.words, of.pictures = of.words[:3], 9
			}
			for _, word := range of.words {
				if !strings.Contains(page.Text, word) {
					t.Errorf("%s does not say %q:\n%s", page.URL, word, page.Text)
				}
			}
			if page.Pictures < of.pictures || page.Scripted > 0 {
				t.Errorf("%s shows %d pictures, want %d or more; %d are made by scripts", page.URL, page.Pictures, of.pictures, page.Scripted)
			}
		}
	}
}

// TestBrowserOutlastsItsConsole checks that a page reports that the console is away, follows the
// next console at the same address, and shows what changed meanwhile.
func TestBrowserOutlastsItsConsole(t *testing.T) {
	b, w := openBrowser(t), setup(t, nil)
	w.apply(penguin)
	w.publish(events.Event{ID: "h", Source: "/up", Pipeline: "penguin", Run: "monday", Data: &events.ExamplesReady{Examples: []events.Examples{{URI: "s3://bkt/ex"}}}})
	w.dispatched()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	stop := w.serve(t, listener)
	page := "http://" + address + "/run?" + url.Values{"pipeline": {"penguin"}, "run": {"monday"}}.Encode()
	cmd := exec.CommandContext(t.Context(), b.program, "-outage", "-watch", "waits for transform.ready", "-watch", "The console does not answer",
		"-watch", "0.875", "-watch", "!The console does not answer", page)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	said := bufio.NewScanner(out)
	next := func(want string) {
		t.Helper()
		if !said.Scan() || said.Text() != want {
			t.Fatalf("the browser saw %q, %v; want %q", said.Text(), said.Err(), want)
		}
	}
	next("waits for transform.ready")
	stop()
	next("The console does not answer")
	w.publish(ready("monday"))
	w.publish(trained("monday"))
	if listener, err = net.Listen("tcp", address); err != nil {
		t.Fatal(err)
	}
	defer w.serve(t, listener)()
	next("0.875")
	next("!The console does not answer")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// serve runs another console on the same bus and store, until stop is called.
func (w *world) serve(t *testing.T, listener net.Listener) (stop func()) {
	t.Helper()
	c, err := New(w.opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- c.Serve(ctx, listener) }()
	return func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("console: %v", err)
		}
	}
}
