package console

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"strings"
	"time"
)

// routes returns the handler of the console's addresses. A page at /x has its updates at /live/x.
func (c *Console) routes() http.Handler {
	mux := http.NewServeMux()
	for path, p := range c.allPages() {
		mux.HandleFunc("GET "+path, c.page(p))
		if len(p.fragments) > 0 {
			mux.HandleFunc("GET /live"+path, c.live(p))
		}
	}
	mux.HandleFunc("GET /download", c.download)
	mux.HandleFunc("GET /study/picture.svg", c.studyPicture)
	mux.HandleFunc("GET /study/drawing", c.studyDrawing)
	mux.HandleFunc("GET /study/data.csv", c.studyData)
	mux.HandleFunc("GET /trial/brief", c.trialBrief)
	mux.HandleFunc("GET /trial/hyperparameters", c.trialHyperparameters)
	mux.HandleFunc("GET /token", func(w http.ResponseWriter, r *http.Request) {
		c.show(w, r, http.StatusOK, "token", tokenView{Then: localPath(r.FormValue("then"))})
	})
	mux.HandleFunc("POST /token", c.login)
	mux.HandleFunc("POST /leave", c.logout)
	for path, do := range c.actions() {
		mux.HandleFunc("POST "+path, c.act(do))
	}
	mux.HandleFunc("GET /static/", assets())
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		c.refuse(w, r, http.StatusNotFound, "There is no such page.")
	})
	return c.guard(limited(mux))
}

// maxForm limits a request's body: the largest form has the numbers of a batch, see
// maxBatchNumbers.
const maxForm = 16 << 10

func limited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		next.ServeHTTP(w, r)
	})
}

// maxBuilding is the number of pages that are made at the same time. Others wait for their turn.
const maxBuilding = 32

// page answers with one complete page.
func (c *Console) page(p page) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		begun := c.opts.Now()
		body, err := c.whole(r, p)
		if err != nil {
			c.fail(w, r, err)
			return
		}
		w.Header().Set("Server-Timing", fmt.Sprintf("page;dur=%.1f", float64(c.opts.Now().Sub(begun))/float64(time.Millisecond)))
		send(w, r, http.StatusOK, body)
	}
}

// whole builds and renders a page, when it is its turn. It doesn't send it: a client may read
// slowly.
func (c *Console) whole(r *http.Request, p page) ([]byte, error) {
	select {
	case c.building <- struct{}{}:
		defer func() { <-c.building }()
	case <-r.Context().Done():
		return nil, context.Cause(r.Context())
	}
	view, err := p.build(r)
	if err != nil {
		return nil, err
	}
	f := c.frame(r, p, view)
	if len(p.fragments) > 0 {
		f.Live = "/live" + r.URL.RequestURI()
	}
	return c.render(f)
}

// allPages returns the pages by path.
func (c *Console) allPages() map[string]page {
	return map[string]page{
		"/{$}": c.overviewPage(), "/workers": c.workersPage(), "/workers/{id}": c.workerPage(),
		"/runs": c.runsPage(), "/run": c.runPage(), "/compare": c.comparePage(),
		"/studies": c.studiesPage(), "/study": c.studyPage(), "/trial": c.trialPage(),
		"/pipelines": c.pipelinesPage(), "/pipeline": c.pipelinePage(), "/revisions": c.revisionsPage(),
		"/pipeline/rollback": c.rollbackPage(), "/pipeline/remove": c.removePage(),
		"/dead": c.deadPage(), "/dead/ask": c.askDeadPage(), "/dead/batch": c.batchPage(), "/dead-letter": c.deadLetterPage(),
		"/artifact": c.artifactPage(), "/lineage": c.lineagePage(),
	}
}

// withProbes answers probes before the guard, because a cluster uses an address of its own, sends
// no cookie, and follows no redirect. All clients may read /healthz and /readyz. /metrics reveals
// as much as the pages: it is for clients that may read them, and for requests with the token as
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

// mayScrape also refuses metrics to a site whose name resolves to this address.
func (c *Console) mayScrape(r *http.Request) bool {
	if said, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return c.sessions.isToken(said)
	}
	return c.isOurs(r.Host) && c.mayRead(r)
}

//go:embed static
var static embed.FS

// assetsMark is a hash of all files that pages load. It is part of their addresses, so that a
// browser caches them forever, and never uses those of another version of this program.
var assetsMark = markOfFolder(static)

func markOfFolder(folder fs.FS) string {
	hash := sha256.New()
	err := fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(folder, name)
		hash.Write(text)
		return err
	})
	if err != nil {
		panic(err) // the directory is embedded
	}
	return hex.EncodeToString(hash.Sum(nil)[:8])
}

// asset returns the address of a file that pages load.
func asset(name string) template.URL { return template.URL("/static/" + name + "?v=" + assetsMark) }

// assets serves the files that pages load.
func assets() http.HandlerFunc {
	files, err := fs.Sub(static, "static")
	if err != nil {
		panic(err) // the directory is embedded under that name
	}
	serve := http.StripPrefix("/static/", http.FileServerFS(files))
	return func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/") {
			http.NotFound(w, r)
			return
		}
		if r.URL.Query().Get("v") == assetsMark {
			w.Header().Set("Cache-Control", "max-age=31536000, immutable")
		} else {
			w.Header().Set("Cache-Control", "no-cache")
		}
		serve.ServeHTTP(w, r)
	}
}
