package main

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// A page is loaded in a new tab and by a link on the page before it, each as often; the first
// loadings are not reported.
func TestAPageIsLoadedInANewTabAndByALink(t *testing.T) {
	ctx, _ := openLatePage(t)
	var mu sync.Mutex
	asked := map[string]int{} // by path and the path of the page with the link
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/favicon.ico" {
			return
		}
		mu.Lock()
		asked[r.URL.Path+" from "+r.Referer()]++
		mu.Unlock()
		w.Header().Set("Server-Timing", "page;dur=7")
		// The browser reports an error.
		_, _ = w.Write([]byte("<!doctype html><title>A page</title><main><h1>A page</h1></main>"))
	}))
	defer server.Close()
	all, err := loadAll(ctx, []string{server.URL + "/a", server.URL + "/b"}, 2)
	if err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	for _, page := range all {
		if len(page.NewTab) != 2 || len(page.OpenTab) != 2 {
			t.Errorf("%+v", page)
		}
		for _, f := range append(page.NewTab, page.OpenTab...) {
			if f.Load <= 0 || f.Server != 7 || f.Bytes == 0 {
				t.Errorf("%+v", f)
			}
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for key, want := range map[string]int{"/a from ": 3, "/b from ": 4, "/a from " + server.URL + "/b": 3, "/b from " + server.URL + "/a": 3} {
		if asked[key] != want {
			t.Errorf("asked for %s %d times, want %d", key, asked[key], want)
		}
	}
}

func TestALinkThatLeadsElsewhereIsAnError(t *testing.T) {
	ctx, url := openLatePage(t)
	server := httptest.NewServer(http.RedirectHandler(url, http.StatusSeeOther))
	defer server.Close()
	err := chromedp.Run(ctx, link(server.URL+"/gone"))
	if want := "the link leads to " + url + "/"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
