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

// Probes answer how a process is, in the shapes that Kubernetes and Prometheus ask for:
//
//	/healthz  200 while its loops turn; 503 with what hangs. One that hangs is to be started anew
//	/readyz   200 while all that it needs answers and it isn't told to leave; else 503, with a line for each thing that is missing
//	/metrics  what it counts, in Prometheus's format
//
// They hold no secret and change nothing: who reaches the address may ask.
type Probes struct {
	t        *Telemetry
	needs    map[string]Need
	leaving  <-chan struct{}
	now      func() time.Time
	needTime time.Duration

	mu     sync.Mutex
	looked time.Time // when needs were last asked
	state  []string  // what was missing then
}

// Need asks for something that a process can't work without. It returns nil where that answers, and ends with its ctx.
type Need func(ctx context.Context) error

// Probes make a set of paths for a process that has needs, by name, and is told to leave when ctx ends.
func (t *Telemetry) Probes(ctx context.Context, needs map[string]Need) *Probes {
	return &Probes{t: t, needs: needs, leaving: ctx.Done(), now: time.Now, needTime: needTime}
}

const (
	needTime = 2 * time.Second // that all needs together have: probes are given up after some seconds
	stale    = time.Second     // an answer is good for so long, however many ask
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
		return []string{"draining: it was told to leave"}
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

// missing asks all needs at once.
func (p *Probes) missing(ctx context.Context) (missing []string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.needTime) // the answer is for others too
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

// headerTime bounds how long a client may take to say what it wants.
const headerTime = 5 * time.Second

// Serve serves h on an address, host:port, for as long as do runs. do begins when the address is open.
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
