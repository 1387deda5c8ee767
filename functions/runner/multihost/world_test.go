package multihost_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/runner/multihost"
	"github.com/stoker-ml/stoker/local/natsserver"
)

// inMemory runs a test on the bus in memory, without waiting.
func inMemory(t *testing.T, story func(*testing.T, *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		bus := bustest.NewMemory(0)
		w := newWorld(t, 30*time.Second, func(*testing.T) conn { return bus })
		w.exact = true
		story(t, w)
	})
}

// onEachBus runs a test in memory and on a NATS server.
func onEachBus(t *testing.T, story func(*testing.T, *world)) {
	t.Helper()
	within(t, 30*time.Second, story)
}

// within is onEachBus for a test in which a host is lost. On the server the host is gone after
// silence.
func within(t *testing.T, silence time.Duration, story func(*testing.T, *world)) {
	t.Helper()
	t.Run("in memory", func(t *testing.T) {
		t.Parallel()
		inMemory(t, story)
	})
	t.Run("on a server", func(t *testing.T) {
		t.Parallel()
		server, err := natsserver.Start(t.Context(), natsserver.Options{Dir: t.TempDir()})
		must(t, err)
		t.Cleanup(func() { _ = server.Close() })
		story(t, newWorld(t, silence, func(t *testing.T) conn { return connect(t, server.URL(), jetstream.Options{Create: true}) }))
	})
}

type conn interface {
	multihost.Bus
	events.JobQueue
}

func connect(t *testing.T, url string, opts jetstream.Options) *jetstream.Bus {
	t.Helper()
	bus, err := jetstream.Connect(t.Context(), url, opts)
	must(t, err)
	t.Cleanup(func() { _ = bus.Close() })
	return bus
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// world is a group in this process, with a goroutine for each member that runs its do.
type world struct {
	*multihost.Leader
	silence time.Duration
	exact   bool // the clock stands still while anything runs, so durations are exact
	connect func(*testing.T) conn
	logger  *slog.Logger // of the hosts that are started next

	lines   map[int]*line // by rank: that of the host that was started last
	hosts   []string
	command multihost.Command
	members sync.WaitGroup
	left    chan error // of members that have left
	kill    map[int]context.CancelCauseFunc
}

// newWorld puts a job on the queue, under the lease of an attempt.
func newWorld(t *testing.T, silence time.Duration, connect func(*testing.T) conn) *world {
	t.Helper()
	w := &world{silence: silence, connect: connect, lines: map[int]*line{}, left: make(chan error, 8), kill: map[int]context.CancelCauseFunc{}}
	w.command = w.claim(t, connect(t), "j1", `{}`)
	t.Cleanup(w.members.Wait)
	return w
}

// claim enqueues a job and claims it.
func (w *world) claim(t *testing.T, bus conn, id, spec string) multihost.Command {
	t.Helper()
	command, err := tryClaim(t.Context(), bus, id, spec)
	must(t, err)
	return command
}

// tryClaim is claim for a bus that may be away. It can be repeated.
func tryClaim(ctx context.Context, bus conn, id, spec string) (multihost.Command, error) {
	err := bus.Enqueue(ctx, events.Job{
		ID: id, Function: events.FunctionTrain, Class: "cpu", Pipeline: "penguin", Run: "monday", Spec: json.RawMessage(spec),
		Causes: []events.Cause{{Kind: events.KindExamplesReady, Source: "/up", ID: "1", Sequence: 1}},
	})
	if err != nil {
		return multihost.Command{}, err
	}
	claim, err := bus.Claim(ctx, events.FunctionTrain, []string{"cpu"}, time.Minute)
	if err != nil {
		return multihost.Command{}, err
	}
	job, err := claim.Job()
	return multihost.Command{Job: job, Attempt: claim.Attempt(), Execution: "sha256:e"}, err
}

// options returns the options of a host, which has a line of its own to the bus.
func (w *world) options(t *testing.T, rank int) multihost.Options {
	t.Helper()
	w.lines[rank] = &line{conn: w.connect(t)}
	return multihost.Options{Bus: w.lines[rank], Class: "cpu", Hosts: w.hosts, Rank: rank, Silence: w.silence, Logger: w.logger}
}

// start starts a group of a leader and a member for each do. The members leave with the leader.
func (w *world) start(t *testing.T, do ...doing) {
	t.Helper()
	w.gather(t, true, do...)
	must(t, w.Whole(t.Context()))
}

func (w *world) gather(t *testing.T, once bool, do ...doing) {
	t.Helper()
	for rank := range len(do) + 1 {
		w.hosts = append(w.hosts, fmt.Sprintf("host%d:7070", rank))
	}
	w.lead(t)
	for i, do := range do {
		w.follow(t, i+1, once, do)
	}
}

// lead starts a leader.
func (w *world) lead(t *testing.T) {
	t.Helper()
	leader, err := multihost.Listen(t.Context(), w.options(t, 0))
	must(t, err)
	t.Cleanup(leader.Close)
	w.Leader = leader
}

func (w *world) follow(t *testing.T, rank int, once bool, do doing) {
	t.Helper()
	ctx, kill := context.WithCancelCause(t.Context())
	w.kill[rank] = kill
	options := w.options(t, rank)
	gone := make(chan struct{})
	w.members.Go(func() {
		defer close(gone)
		w.left <- multihost.Follow(ctx, options, once, do)
	})
	t.Cleanup(func() { <-gone }) // before its connection is closed
}

// run leads one round, in which the leader's own part is do.
func (w *world) run(t *testing.T, do func(context.Context) error) error {
	t.Helper()
	round, err := w.Begin(t.Context(), w.command)
	must(t, err)
	defer round.End()
	if err := round.Ready(t.Context(), ""); err != nil {
		return err
	}
	return round.Run(t.Context(), do)
}

// line is a host's connection to the bus.
type line struct {
	conn

	mu       sync.Mutex
	silent   bool // nothing arrives
	down     bool // the process was killed
	lossy    bool // the first reply to each message is lost
	seen     map[string]bool
	largest  int // the largest request, in bytes
	stopping []func()
}

// cut drops all messages in both directions.
func (l *line) cut() { l.silence(true) }

func (l *line) heal() { l.silence(false) }

func (l *line) silence(silent bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.silent = silent
}

// end does what the kernel does for a process that is killed: its connection is closed.
func (l *line) end() {
	l.mu.Lock()
	l.down = true
	stopping := l.stopping
	l.mu.Unlock()
	for _, stop := range stopping {
		stop()
	}
}

func (l *line) Request(ctx context.Context, subject string, body []byte) ([]byte, error) {
	l.mu.Lock()
	silent, down, lost := l.silent, l.down, l.lossy && !l.seen[subject+string(body)]
	if l.seen == nil {
		l.seen = map[string]bool{}
	}
	l.seen[subject+string(body)] = true
	l.largest = max(l.largest, len(body))
	l.mu.Unlock()
	switch {
	case down:
		return nil, events.ErrClosed
	case silent:
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	reply, err := l.conn.Request(ctx, subject, body)
	if lost && err == nil {
		err = errors.New("the reply is lost")
	}
	return reply, err
}

func (l *line) Serve(ctx context.Context, subject string, handle func([]byte) []byte) (func(), error) {
	stop, err := l.conn.Serve(ctx, subject, func(body []byte) []byte {
		l.mu.Lock()
		silent := l.silent
		l.mu.Unlock()
		if silent {
			return nil
		}
		return handle(body)
	})
	if err != nil {
		return nil, err
	}
	stop = sync.OnceFunc(stop)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopping = append(l.stopping, stop)
	return stop, nil
}
