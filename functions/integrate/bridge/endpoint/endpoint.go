package endpoint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs/submit"
)

// Limits of a request.
const (
	MaxBody  = 1 << 20 // bytes of a request's body
	MaxBatch = 128     // events of a batch

	// Requests whose body is being read or whose events are being stored.
	maxInProgress = 32
	storeTime     = 15 * time.Second // for all events of one request
	retryAfter    = "2"              // seconds
)

// anyway is a parameter of a request: with anyway=true its events are stored even if they have no
// effect.
const anyway = "anyway"

// noteHeader is the header of an answer that describes the missing effect of a stored event.
const noteHeader = "Stoker-Note"

// Options are the options of an Endpoint.
type Options struct {
	// Token returns the bearer token that requests must currently have; nil requires none.
	Token func() string
	// Certificates means that clients authenticate by certificate, so the names of the host are not
	// checked.
	Certificates bool
	// Pipelines are the pipelines allowed in events; empty allows all.
	Pipelines []string
	// Checker predicts the effect of an event before it is stored; nil stores events without effect
	// too.
	Checker *submit.Checker
	Logger  *slog.Logger // nil logs nothing
}

// Log is the part of events.Log that an endpoint uses.
type Log interface {
	Publish(ctx context.Context, f events.Event) (events.Receipt, error)
}

// Endpoint is the HTTP handler. Any number may run; it is stateless.
type Endpoint struct {
	log      Log
	opts     Options
	logger   *slog.Logger
	progress chan struct{} // has a value for each request in progress
	guarded  http.Handler
}

// New returns an endpoint that publishes to log. It returns an error if an option is invalid.
func New(log Log, opts Options) (*Endpoint, error) {
	for _, name := range opts.Pipelines {
		if err := events.CheckName("pipeline", name); err != nil {
			return nil, err
		}
	}
	e := &Endpoint{log: log, opts: opts, logger: opts.Logger, progress: make(chan struct{}, maxInProgress)}
	if e.logger == nil {
		e.logger = slog.New(slog.DiscardHandler)
	}
	// Browsers send the origin of a request: pages of other sites must not be able to publish.
	e.guarded = http.NewCrossOriginProtection().Handler(http.HandlerFunc(e.handle))
	return e, nil
}

// ServeHTTP implements http.Handler.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	e.guarded.ServeHTTP(w, r)
}

// handle handles one request, from its first check to its answer.
func (e *Endpoint) handle(w http.ResponseWriter, r *http.Request) {
	if refusal := e.refuse(w, r); refusal != nil {
		e.answer(w, r, *refusal)
		return
	}
	select {
	case e.progress <- struct{}{}:
		defer func() { <-e.progress }()
	default:
		e.answer(w, r, busy)
		return
	}
	candidates, err := read(w, r)
	if err != nil {
		e.answer(w, r, problemOf(err))
		return
	}
	if p := e.check(candidates); p != nil {
		e.answer(w, r, *p)
		return
	}
	p, notes := e.store(r.Context(), candidates, r.URL.Query().Get(anyway) == "true")
	for _, note := range notes {
		w.Header().Add(noteHeader, note)
	}
	e.answer(w, r, p)
}

// refuse returns why a request is not read at all, or nil.
func (e *Endpoint) refuse(w http.ResponseWriter, r *http.Request) *problem {
	switch {
	case e.opts.Token != nil && !authorized(r, e.opts.Token()):
		w.Header().Set("WWW-Authenticate", `Bearer realm="stoker"`)
		w.Header().Set("Connection", "close") // others may need the connection slot
		return &problem{Status: http.StatusUnauthorized, Detail: "expected Authorization: Bearer with the endpoint's token"}
	case e.opts.Token == nil && !e.opts.Certificates && !isLoopbackName(r.Host):
		// Without this, a site whose name resolves to this machine could publish from its pages.
		return &problem{Status: http.StatusMisdirectedRequest, Detail: "expected a request for localhost, since this endpoint does not authenticate its clients"}
	case r.URL.Path != "/":
		return &problem{Status: http.StatusNotFound, Detail: "expected POST /"}
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		return &problem{Status: http.StatusMethodNotAllowed, Detail: "expected POST"}
	}
	return nil
}

// check returns the faults of events before any of them is stored, or nil.
func (e *Endpoint) check(candidates []candidate) *problem {
	var bad problem
	for i, c := range candidates {
		status, err := http.StatusBadRequest, c.err
		if err == nil {
			status, err = e.permits(c.event)
		}
		if err == nil {
			continue
		}
		bad.Status = max(bad.Status, status)
		bad.add(i, c.event, err)
	}
	if bad.Status == 0 {
		return nil
	}
	bad.Detail = "none of the request's events was stored: " + bad.Errors[0].Detail
	return &bad
}

// permits returns why an event must not be published, with the status.
func (e *Endpoint) permits(f events.Event) (status int, err error) {
	if !slices.Contains(events.PublishedBy(events.ByUpstream), f.Data.Kind()) {
		return http.StatusBadRequest, &events.Invalid{Field: "type", Expected: "a kind that pipelines use: " + types(), Got: f.Data.Kind().Type()}
	}
	if _, err := f.CloudEvent(); err != nil {
		return http.StatusBadRequest, err
	}
	if strings.HasPrefix(f.Source, "/stoker/") {
		return http.StatusForbidden, &events.Invalid{Field: "source", Expected: "a source of your own, not one of Stoker's", Got: f.Source}
	}
	if len(e.opts.Pipelines) > 0 && !slices.Contains(e.opts.Pipelines, f.Pipeline) {
		return http.StatusForbidden, &events.Invalid{
			Field: "subject", Expected: "a pipeline that this endpoint publishes for: " + strings.Join(e.opts.Pipelines, ", "), Got: f.Pipeline,
		}
	}
	if len(events.RequestOf(f.Data).PipelineSpec) > 0 {
		return http.StatusForbidden, &events.Invalid{
			Field: "data.pipeline_spec", Expected: "none: events over HTTP must not contain a pipeline; name an applied one", Got: "a pipeline",
		}
	}
	return 0, nil
}

// types lists the types of events that the endpoint accepts.
func types() string { return strings.Join(events.Types(events.PublishedBy(events.ByUpstream)), ", ") }

// store publishes events in order, and returns the answer to their request, with notes on stored
// events without effect. Each is checked just before it is published, because its effect may depend
// on those before it.
func (e *Endpoint) store(ctx context.Context, candidates []candidate, anyway bool) (failed problem, notes []string) {
	ctx, cancel := context.WithTimeoutCause(ctx, storeTime, errSlow)
	defer cancel()
	for i, c := range candidates {
		note, err := e.opts.Checker.Check(ctx, c.event, anyway)
		var receipt events.Receipt
		if err == nil {
			receipt, err = e.log.Publish(ctx, c.event)
		}
		if err != nil {
			failed.Status = max(failed.Status, statusOf(err))
			failed.add(i, c.event, shown(err))
			e.logger.WarnContext(ctx, "event not stored", "pipeline", c.event.Pipeline, "run", c.event.Run, "event", c.event.ID, "error", err)
			continue
		}
		failed.Stored++
		if note != "" {
			notes = append(notes, note)
		}
		e.logger.InfoContext(ctx, "event stored", "kind", c.event.Data.Kind(), "pipeline", c.event.Pipeline, "run", c.event.Run, "event", c.event.ID,
			"source", c.event.Source, "sequence", receipt.Sequence, "duplicate", receipt.Duplicate)
	}
	if failed.Status == 0 {
		return problem{Status: http.StatusAccepted}, notes
	}
	failed.Detail = fmt.Sprintf("%d of %d events are stored: %s", failed.Stored, len(candidates), failed.Errors[0].Detail)
	return failed, notes
}

var errSlow = fmt.Errorf("%w within %s", events.ErrUnavailable, storeTime)

// statusOf returns the status of an event that was not stored. The largest of a batch is that of
// the request, so an unavailable bus decides: the request must be repeated.
func statusOf(err error) int {
	_, invalid := errors.AsType[*events.Invalid](err)
	none, ignored := errors.AsType[*submit.NoEffect](err)
	switch {
	case invalid:
		return http.StatusBadRequest
	case ignored && none.Useless:
		return http.StatusUnprocessableEntity
	case ignored:
		return http.StatusConflict
	case errors.Is(err, events.ErrRefused):
		return http.StatusForbidden
	case errors.Is(err, events.ErrConflict):
		return http.StatusConflict
	case errors.Is(err, events.ErrTooLarge):
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusServiceUnavailable
}

// shown returns the error of the bus for a client: which of the documented ones it is. Names of
// servers and subjects are only in the log.
func shown(err error) error {
	if _, invalid := errors.AsType[*events.Invalid](err); invalid {
		return err
	}
	if none, ignored := errors.AsType[*submit.NoEffect](err); ignored {
		if none.Useless {
			return fmt.Errorf("%w; apply the pipeline first, or post it to /?anyway=true", none)
		}
		return fmt.Errorf("%w; post it under another run", none)
	}
	switch {
	case errors.Is(err, events.ErrRefused):
		return errors.New("the bus does not permit this endpoint to publish events of this kind and pipeline")
	case errors.Is(err, events.ErrConflict):
		return errors.New("another event with this id was stored before for this kind, pipeline and run: publish new data under a new id")
	case errors.Is(err, events.ErrTooLarge):
		return events.ErrTooLarge
	}
	return errors.New("the bus does not answer: repeat the request; the event may have been stored, and is stored once")
}
