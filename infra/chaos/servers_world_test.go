package chaos

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/worker"
	"github.com/stoker-ml/stoker/infra/chaos/history"
	"github.com/stoker-ml/stoker/infra/cluster"
)

const (
	clusterLease      = 4 * time.Second
	clusterSweep      = 2 * time.Second
	clusterWorkers    = 3
	clusterDispatches = 2
)

// servers is a cluster with dispatchers and workers, which run in the test's process on connections
// of their own, and with the answers that the publishers and operators of the test got.
type servers struct {
	t       testing.TB
	plan    plan
	dir     string
	cluster *cluster.Cluster
	nc      *nats.Conn // of the test itself; it leaves a server that doesn't answer soon
	clients [cluster.Size]*jetstream.Bus
	commits *commits

	dispatchers, workers []*member

	mu        sync.Mutex
	published []history.Published
	cancelled []history.Run
	held      []string
	counts    map[string]int
	diary     []string      // what the test did, in order
	took      time.Duration // to settle
}

// newServers starts a cluster with streams of three copies.
func newServers(t testing.TB, p plan) *servers {
	t.Helper()
	w := &servers{t: t, plan: p, dir: t.TempDir(), commits: &commits{}, counts: map[string]int{}}
	w.cluster = cluster.Start(t, filepath.Join(w.dir, "cluster"))
	var urls []string
	for i := range cluster.Size {
		urls = append(urls, w.cluster.URL(i))
	}
	var err error
	w.nc, err = nats.Connect(strings.Join(urls, ","), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond),
		nats.PingInterval(time.Second), nats.MaxPingsOutstanding(2), nats.ReconnectBufSize(-1))
	w.must(err)
	t.Cleanup(w.nc.Close)
	for i := range w.clients {
		name := fmt.Sprintf("client-%d", i)
		w.clients[i], err = jetstream.Connect(t.Context(), w.cluster.URL(i), w.options(name, slog.New(slog.DiscardHandler)))
		w.must(err)
		t.Cleanup(func() { w.clients[i].Close() })
	}
	return w
}

func (w *servers) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *servers) options(name string, log *slog.Logger) jetstream.Options {
	return jetstream.Options{Create: name == "client-0", Replicas: cluster.Size, Lease: clusterLease, Name: name, Logger: log}
}

// note counts an operation, and keeps what was done to which run.
func (w *servers) note(what, about string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[what]++
	w.diary = append(w.diary, fmt.Sprintf("%s %s %s", time.Now().UTC().Format("15:04:05.000"), what, about))
}

// staff starts dispatchers and workers, on different servers.
func (w *servers) staff() {
	for i := range clusterDispatches {
		w.dispatchers = append(w.dispatchers, w.hire(named(roleDispatcher, i+1), (behind+i)%cluster.Size, runDispatcher))
	}
	for i := range clusterWorkers {
		run := func(ctx context.Context, bus *jetstream.Bus, log *slog.Logger) error {
			functions := []worker.Function{quick{w.commits}}
			return worker.New(bus, worker.Options{Functions: functions, Slots: 2, Logger: log}).Run(ctx)
		}
		w.workers = append(w.workers, w.hire(named(roleWorker, i+1), (i+2)%cluster.Size, run))
	}
}

func runDispatcher(ctx context.Context, bus *jetstream.Bus, log *slog.Logger) error {
	var d *dispatch.Dispatcher
	err := persist(ctx, log, func() (err error) {
		d, err = dispatch.New(ctx, bus, log)
		return err
	})
	if err != nil {
		return err
	}
	d.SweepEvery = clusterSweep
	return d.Run(ctx)
}

// member is a dispatcher or a worker, in one life after another.
type member struct {
	w      *servers
	name   string
	server int
	run    func(context.Context, *jetstream.Bus, *slog.Logger) error

	mu      sync.Mutex
	bus     *jetstream.Bus
	cancel  context.CancelFunc
	ended   chan struct{}
	stopped atomic.Bool
}

func (w *servers) hire(name string, server int, run func(context.Context, *jetstream.Bus, *slog.Logger) error) *member {
	m := &member{w: w, name: name, server: server, run: run}
	w.t.Cleanup(func() { m.stop(false) })
	m.start()
	return m
}

// start begins a life.
func (m *member) start() {
	ctx, cancel := context.WithCancel(context.WithoutCancel(m.w.t.Context()))
	m.stopped.Store(false)
	m.cancel, m.ended = cancel, make(chan struct{})
	go func() {
		defer close(m.ended)
		if err := m.live(ctx); err != nil && !m.stopped.Load() {
			m.w.t.Errorf("%s ended by itself: %v", m.name, err)
		}
	}()
}

func (m *member) live(ctx context.Context) error {
	file, err := os.OpenFile(filepath.Join(m.w.dir, m.name+".log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	log := slog.New(slog.NewTextHandler(file, nil)).With("member", m.name)
	var bus *jetstream.Bus
	err = persist(ctx, log, func() (err error) {
		bus, err = jetstream.Connect(ctx, m.w.cluster.URL(m.server), m.w.options(m.name, log))
		return err
	})
	if err != nil {
		return err
	}
	defer bus.Close()
	m.mu.Lock()
	m.bus = bus
	m.mu.Unlock()
	return m.run(ctx, bus, log)
}

// lifeEnd limits how long a dispatcher or a worker takes to end.
const lifeEnd = time.Minute

// stop ends a life. If abrupt, the connection is lost first, so that work in progress can't be
// finished.
func (m *member) stop(abrupt bool) {
	m.stopped.Store(true)
	m.mu.Lock()
	bus := m.bus
	m.mu.Unlock()
	if abrupt && bus != nil {
		bus.Close()
	}
	m.cancel()
	select {
	case <-m.ended:
	case <-time.After(lifeEnd):
		m.w.t.Errorf("%s does not end within %s", m.name, lifeEnd)
	}
}

// commits replaces the store: the first commit of an execution decides its result.
type commits struct {
	all    sync.Map // by execution: whether it was cancelled
	module atomic.Int64
}

func (c *commits) commit(execution string, cancelled bool) (wasCancelled bool) {
	found, _ := c.all.LoadOrStore(execution, cancelled)
	return found.(bool)
}

// quick does not train, and takes a moment.
type quick struct{ commits *commits }

func (q quick) Name() events.Function { return events.FunctionTrain }

func (q quick) Limits(events.Job) worker.Limits { return worker.Limits{Attempts: 1, Crashes: 1} }

func (q quick) Failed(task worker.Task, failure *events.Failure) events.Event {
	return events.NewJobFailed(task.Job, task.Attempt, failure)
}

func (q quick) Handle(ctx context.Context, task worker.Task) ([]events.Event, error) {
	job := task.Job
	if job.Pipeline == pipeBroken {
		return nil, events.Fail(events.FailureModule, errors.New("this pipeline's module raises"))
	}
	made := job.ID
	if job.Pipeline == pipeDrift {
		made += fmt.Sprint(q.commits.module.Load())
	}
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(made)))
	select {
	case <-ctx.Done():
		if !errors.Is(context.Cause(ctx), events.ErrCancelled) {
			return nil, events.Fail(events.FailureUnavailable, context.Cause(ctx))
		}
	case <-time.After(duration(job.Pipeline, sum[0])):
	}
	cancelled := task.Attempt.Cancelled || errors.Is(context.Cause(ctx), events.ErrCancelled)
	if err := task.Prove(); err != nil {
		return nil, err
	}
	if q.commits.commit(sum, cancelled) {
		return nil, events.Fail(events.FailureCancelled, errors.New("cancelled"))
	}
	return []events.Event{events.NewModelTrained(job, quickModel(job, sum))}, nil
}

// duration is longer where runs wait for each other.
func duration(pipeline string, digit byte) time.Duration {
	length := time.Duration(digit) * 3 * time.Millisecond
	if pipeline == pipeNarrow || pipeline == pipeNewest || pipeline == pipeGated {
		length *= 8
	}
	return length
}

func quickModel(job events.Job, sum string) *events.ModelTrained {
	at := "s3://models/" + job.Pipeline + "/Trainer/model/" + sum
	return &events.ModelTrained{
		Model:     events.Model{URI: at, Digest: "sha256:" + sum, Formats: []string{"Format-Serving"}},
		Execution: "sha256:" + sum, Generation: job.Generation,
		Inputs: []events.Artifact{{Type: "TransformGraph", URI: "s3://bkt/graph", Digest: "sha256:" + sum}},
		Module: "builtin:quick", Started: job.Created, Finished: job.Created, Attempts: 1,
	}
}
