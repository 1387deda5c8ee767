package telemetry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Probes report the state of a process in the formats of Kubernetes and Prometheus:
//
//	/healthz  200 while no operation is overdue; 503 with the overdue one: restart the process
//	/readyz   200 while all needs answer and the process isn't stopping; else 503, with a line for
//	          each missing need
//	/metrics  its metrics, in Prometheus's format
//
// They contain no secret and change nothing: every client that can connect to the address may read
// them.
type Probes struct {
	t        *Telemetry
	needs    map[string]Need
	leaving  <-chan struct{}
	now      func() time.Time
	needTime time.Duration

	mu     sync.Mutex
	looked time.Time // when needs were last checked
	state  []string  // what was missing then
}

// Need checks a dependency that a process can't work without. It returns nil if the dependency
// answers, and ends with its ctx.
type Need func(ctx context.Context) error

// Probes returns the probes of a process that has needs, by name, and that stops when ctx ends.
func (t *Telemetry) Probes(ctx context.Context, needs map[string]Need) *Probes {
	return &Probes{t: t, needs: needs, leaving: ctx.Done(), now: time.Now, needTime: needTime}
}

const (
	needTime = 2 * time.Second // for all needs together: probes time out after some seconds
	stale    = time.Second     // how long an answer is cached
)

// Handler serves the three paths, and nothing else.
func (p *Probes) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, p.alive()) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) { answer(w, p.ready(r.Context())) })
	if metrics := p.t.Metrics(); metrics != nil {
		mux.Handle("GET /metrics", metrics)
	}
	return mux
}

// answer writes ok, or what is missing.
func answer(w http.ResponseWriter, missing []string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if len(missing) > 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintln(w, strings.Join(missing, "\n"))
		return
	}
	fmt.Fprintln(w, "ok")
}

func (p *Probes) alive() []string {
	if p.t == nil {
		return nil
	}
	if err := p.t.loops.hanging(); err != nil {
		return []string{err.Error()}
	}
	return nil
}

func (p *Probes) ready(ctx context.Context) []string {
	select {
	case <-p.leaving:
		return []string{"draining: the process is stopping"}
	default:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.looked.IsZero() || p.now().Sub(p.looked) >= stale {
		p.state = p.missing(ctx)
		p.looked = p.now()
	}
	return p.state
}

// missing checks all needs at once.
func (p *Probes) missing(ctx context.Context) (missing []string) {
	// The answer is cached for others too.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.needTime)
	defer cancel()
	names := slices.Sorted(maps.Keys(p.needs))
	answers := make([]error, len(names))
	var asking sync.WaitGroup
	for i, name := range names {
		asking.Go(func() { answers[i] = p.needs[name](ctx) })
	}
	asking.Wait()
	for i, name := range names {
		if answers[i] != nil {
			missing = append(missing, name+": "+firstLine(answers[i]))
		}
	}
	return missing
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// headerTime limits how long a client may take to send its headers.
const headerTime = 5 * time.Second

// Serve serves h on an address, host:port, while do runs. do begins when the address is open.
func Serve(ctx context.Context, address string, h http.Handler, do func(ctx context.Context, at net.Addr) error) (err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("--listen %s: %w", address, err)
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: headerTime}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	defer func() {
		closed := server.Close()
		if ended := <-served; !errors.Is(ended, http.ErrServerClosed) {
			closed = errors.Join(closed, ended)
		}
		err = errors.Join(err, closed)
	}()
	return do(ctx, listener.Addr())
}

// loops records when each operation with a limit must end: a request to a queue, the handling of an
// event, the work on a job whose lease was lost. An overdue operation hangs, and would never end.
// Work without a limit is not recorded: its lease limits it.
type loops struct {
	now func() time.Time

	mu    sync.Mutex
	last  uint64
	going map[uint64]turn
}

type turn struct {
	what string
	by   time.Time
}

func newLoops(now func() time.Time) *loops { return &loops{now: now, going: map[uint64]turn{}} }

// slack is how much longer than its limit an operation may take before it counts as hanging.
const slack = time.Minute

// begin records the beginning of an operation that must end within a time. ended must be called.
func (l *loops) begin(what string, within time.Duration) (ended func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	id := l.last
	l.going[id] = turn{what, l.now().Add(within + slack)}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.going, id)
	}
}

// hanging returns an error that names an overdue operation; nil if there is none.
func (l *loops) hanging() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.going {
		if late := l.now().Sub(t.by); late > 0 {
			return fmt.Errorf("%s hangs: its deadline was %s ago", t.what, (late + slack).Round(time.Second))
		}
	}
	return nil
}
