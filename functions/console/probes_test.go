package console

import (
	"net/http"
	"strings"
	"testing"
)

// TestProbesAreAnsweredWithoutAToken sends probes as a cluster does, to the pod's address and
// without a cookie. Metrics reveal more.
func TestProbesAreAnsweredWithoutAToken(t *testing.T) {
	t.Parallel()
	byAddress := func(r *http.Request) { r.Host = "10.1.2.3:8080" }
	bearer := func(said string) func(*http.Request) {
		return func(r *http.Request) { byAddress(r); r.Header.Set("Authorization", "Bearer "+said) }
	}
	for _, private := range []bool{false, true} {
		w := setup(t, func(o *Options) {
			if private {
				o.Readers = TokenHolders
			}
			o.Probes = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("probe " + r.URL.Path)) })
		})
		open := map[bool]int{false: http.StatusOK, true: http.StatusUnauthorized}[private]
		for what, try := range map[string]struct {
			path   string
			by     []func(*http.Request)
			status int
		}{
			"a cluster":               {"/healthz", []func(*http.Request){byAddress}, http.StatusOK},
			"a balancer":              {"/readyz", []func(*http.Request){byAddress}, http.StatusOK},
			"a scraper on loopback":   {"/metrics", nil, open},
			"a site of another name":  {"/metrics", []func(*http.Request){byAddress}, http.StatusUnauthorized},
			"one with a wrong token":  {"/metrics", []func(*http.Request){bearer("guessed")}, http.StatusUnauthorized},
			"a scraper with a token":  {"/metrics", []func(*http.Request){bearer(token)}, http.StatusOK},
			"a browser that may read": {"/metrics", []func(*http.Request){w.trusted}, http.StatusOK},
		} {
			status, body := w.get(try.path, try.by...)
			if status != try.status || (status == http.StatusOK) != strings.Contains(body, "probe "+try.path) {
				t.Errorf("private %t, %s: %s is %d, want %d: %s", private, what, try.path, status, try.status, body)
			}
		}
		if status, _ := w.get("/runs", byAddress); status != http.StatusMisdirectedRequest {
			t.Errorf("the page is served under another name: %d", status)
		}
	}
}
