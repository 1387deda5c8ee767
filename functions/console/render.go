package console

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/console/chart"
	"github.com/stoker-ml/stoker/functions/internal/mask"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/storage"
)

//go:embed templates/*.html
var templates embed.FS

// frame is what surrounds every page.
type frame struct {
	Title    string
	Nav      string   // the entry of the menu that the page belongs to
	Dead     int      // dead letters
	Waits    []string // why the page is incomplete
	Trusted  bool     // this browser has presented the token
	CanAct   bool     // a token is set, so clients can act with it
	Path     string   // address of the page itself
	Live     string   // address of its updates; "" for a page that does not change
	View     any
	Now      time.Time
	template string
	seen     seen // the parts that were written, by Part
	c        *Console
}

// parseTemplates parses the pages. Anything that depends on the time of a request is a method of
// frame.
func parseTemplates() (*template.Template, error) {
	funcs := template.FuncMap{
		"lasts": lasts, "bytes": bytesText, "short": chart.Short, "digest": chart.ShortDigest, "link": link, "mark": stateMark, "quoted": quoted,
		"join": strings.Join, "words": chart.Words, "thousands": thousands, "plain": plain, "perSecond": perSecond, "letters": letterCount, "spark": chart.Spark, "sub": func(a, b int) int { return a - b },
		"asset": asset, "aligned": aligned, "modelName": modelName, "assets": func() string { return assetsMark },
		"choice": choiceOf, "names": func(list []nameValue, caption string) nameTable { return nameTable{caption, list} },
		"pair": func(f frame, view any) frame { f.View = view; return f },
		"slug": func(s string) string { return strings.ToLower(strings.ReplaceAll(s, " ", "-")) },
	}
	pages, err := template.New("console").Funcs(funcs).ParseFS(templates, "templates/*.html")
	if err != nil {
		return nil, fmt.Errorf("parse the console's pages: %w", err)
	}
	return pages, nil
}

// Ago formats a time relative to the request.
func (f frame) Ago(t time.Time) template.HTML { return ago(t, f.Now) }

// Command returns a command line of this program for the same Stoker.
func (f frame) Command(args ...string) string {
	words := append([]string{f.c.opts.Command}, args...)
	if f.c.opts.Flags != "" {
		words = append(words, f.c.opts.Flags)
	}
	return strings.Join(words, " ")
}

// Body returns the page itself, within the frame.
func (f frame) Body() (template.HTML, error) { return f.part(f.template) }

// Part returns a part of the page that may change, in its element. It is recorded for Seen.
func (f frame) Part(name string) (template.HTML, error) {
	html, err := f.part(name)
	f.seen[name] = markOf(string(html))
	return template.HTML(`<div id="` + name + `">` + string(html) + `</div>`), err
}

// Seen returns the parts that were written so far.
func (f frame) Seen() string { return f.seen.String() }

func (f frame) part(name string) (template.HTML, error) {
	var out bytes.Buffer
	err := f.c.pages.ExecuteTemplate(&out, name, f)
	return template.HTML(out.String()), err // the template has escaped it
}

// frame fills in what every page has.
func (c *Console) frame(r *http.Request, p page, view any) frame {
	waits := c.model.waits()
	var dead int
	c.model.View(func(*runs.Index) { dead = c.model.dead.count })
	if !c.mayRead(r) { // a page for clients that may not read
		dead, waits = 0, nil
	}
	return frame{
		Title: p.title(view), Nav: p.nav, Dead: dead, Waits: waits, Trusted: c.trusts(r), CanAct: c.sessions.hasToken(),
		Path: r.URL.RequestURI(), View: view, Now: c.opts.Now(), template: p.template, seen: seen{}, c: c,
	}
}

// waits says what is not known yet, or no longer.
func (m *model) waits() (list []string) {
	away, reading := m.Status()
	if away != "" {
		return []string{"The bus does not answer; this page shows the last known state. " + away}
	}
	if reading {
		list = append(list, "Still reading the events on the bus.")
	}
	dropped := 0
	m.View(func(x *runs.Index) { dropped = x.Dropped() })
	if dropped > 0 {
		list = append(list, fmt.Sprintf("%d older runs are not shown here; the command line lists all.", dropped))
	}
	return list
}

// notice returns a message above a page, as HTML.
func notice(text string) string {
	return `<p class="notice" role="status">` + template.HTMLEscapeString(text) + `</p>`
}

// problem is an error with its status.
type problem struct {
	status  int
	message string
}

func (p *problem) Error() string { return p.message }

func notThere(format string, args ...any) error {
	return &problem{http.StatusNotFound, fmt.Sprintf(format, args...)}
}
func badRequest(format string, args ...any) error {
	return &problem{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// statusOf returns the HTTP status of an error.
func statusOf(err error) int {
	if p, ok := errors.AsType[*problem](err); ok {
		return p.status
	}
	switch {
	case errors.Is(err, events.ErrNotFound), errors.Is(err, storage.ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, storage.ErrBadRef):
		return http.StatusBadRequest
	case errors.Is(err, events.ErrRefused), errors.Is(err, storage.ErrDenied):
		return http.StatusForbidden
	case errors.Is(err, events.ErrConflict):
		return http.StatusConflict
	}
	return http.StatusBadGateway
}

// show writes a page that does not depend on the bus.
func (c *Console) show(w http.ResponseWriter, r *http.Request, status int, name string, view any) {
	titles := map[string]string{"token": "Enter the token", "error": "Not shown"}
	p := page{template: name, title: func(any) string { return titles[name] }}
	body, err := c.render(c.frame(r, p, view))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	send(w, r, status, body)
}

// refuse refuses a request with a reason.
func (c *Console) refuse(w http.ResponseWriter, r *http.Request, status int, message string) {
	title := "The request failed"
	if status == http.StatusNotFound {
		title = "Not found"
	}
	c.show(w, r, status, "error", errorView{Status: status, Title: title, Message: message})
}

// errorView is the page for an error.
type errorView struct {
	Status         int
	Title, Message string
	Enter          template.URL // address of the page where the token is entered, if that helps
}

func (c *Console) fail(w http.ResponseWriter, r *http.Request, err error) {
	c.refuse(w, r, statusOf(err), mask.Text(err.Error()))
}

// render renders the whole page before anything is sent, so that an error of ours never truncates a
// page.
func (c *Console) render(f frame) ([]byte, error) {
	var out bytes.Buffer
	if err := c.pages.ExecuteTemplate(&out, "frame", f); err != nil {
		c.opts.Logger.Error("page not rendered", "page", f.template, "error", err)
		return nil, &problem{http.StatusInternalServerError, "the page could not be rendered: see the console's log"}
	}
	return out.Bytes(), nil
}

func send(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the client may be gone
	}
}

// page is one kind of page.
type page struct {
	nav       string
	template  string
	title     func(view any) string
	fragments []string // parts that change while the page is open, by template and id
	build     func(r *http.Request) (any, error)

	// How often it is rebuilt without a change of the model; nil: breath.
	breath func(view any) time.Duration
}

// pageNumber returns the requested page of a list, from 1.
func pageNumber(r *http.Request) int {
	n := 0
	for _, digit := range r.FormValue("page") {
		if digit < '0' || digit > '9' || n > 1e6 {
			return 1
		}
		n = n*10 + int(digit-'0')
	}
	return max(n, 1)
}

// leaf is one page of a list.
type leaf struct {
	Number, Pages, From, To, Total int
	Previous, Next                 template.URL
}

// leafOf returns the requested page of a list.
func leafOf[T any](r *http.Request, all []T, size int) ([]T, leaf) {
	l := leaf{Number: pageNumber(r), Total: len(all), Pages: max(1, (len(all)+size-1)/size)}
	l.Number = min(l.Number, l.Pages)
	from, to := (l.Number-1)*size, min(l.Number*size, len(all))
	l.From, l.To = min(from+1, to), to
	l.Previous, l.Next = turn(r, l.Number-1, l.Pages), turn(r, l.Number+1, l.Pages)
	return slices.Clone(all[from:to]), l
}

func turn(r *http.Request, to, pages int) template.URL {
	if to < 1 || to > pages {
		return ""
	}
	query := r.URL.Query()
	query.Del("seen")
	query.Set("page", fmt.Sprint(to))
	return template.URL(strings.TrimPrefix(r.URL.Path, "/live") + "?" + query.Encode())
}
