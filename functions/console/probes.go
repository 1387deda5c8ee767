package console

import (
	"net/http"
	"strings"
)

// withProbes answers probes before the guard. A cluster uses an address of its own, sends no
// cookie, and follows no redirect: /healthz and /readyz are for all clients. /metrics reveals as
// much as the pages: it is for clients that may read them, and for requests with the token as
// "Authorization: Bearer".
func (c *Console) withProbes(next http.Handler) http.Handler {
	if c.opts.Probes == nil {
		return next
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", c.probe)
	mux.HandleFunc("GET /readyz", c.probe)
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		if c.mayScrape(r) {
			c.probe(w, r)
			return
		}
		if r.Header.Get("Authorization") != "" {
			c.pause(r)
		}
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "expected the console's token, as Authorization: Bearer; STOKER_LISTEN serves metrics at an address of its own", http.StatusUnauthorized)
	})
	mux.Handle("/", next)
	return mux
}

func (c *Console) probe(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header())
	c.opts.Probes.ServeHTTP(w, r)
}

// mayScrape also refuses metrics to a site that points its name here.
func (c *Console) mayScrape(r *http.Request) bool {
	if said, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return c.sessions.isToken(said)
	}
	return c.isOurs(r.Host) && c.mayRead(r)
}
