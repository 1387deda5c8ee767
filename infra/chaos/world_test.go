package chaos

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/local/bucket/buckettest"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/s3"
)

// world is a bus and a store, to which dispatchers and workers are added. The test itself connects
// to both directly.
type world struct {
	t     testing.TB
	plan  plan
	lease time.Duration
	dir   string // logs, cuts, the bus's files

	root  storage.Ref
	store *s3.Store
	proxy *proxy

	busProcess *process // nil where the bus is a cluster
	replicas   int      // of the buses that connect returns; 0: the bus's default
	sweep      time.Duration
	address    string
	bus        *jetstream.Bus
	js         natsjs.JetStream

	busIsUp   sync.Mutex // held by a goroutine that needs it to stay as it is
	processes []*process
}

// newWorld starts bus and store. When the test has failed, it shows how to repeat it and the last
// lines of each process.
func newWorld(t testing.TB, p plan, lease time.Duration) *world {
	t.Helper()
	w := newStore(t, p, lease)
	w.busProcess = start(t, part{Role: roleBus, Name: roleBus, Dir: filepath.Join(w.dir, "bus"), Cuts: w.cutsFile(), Sync: true}, never)
	select {
	case w.address = <-w.busProcess.address:
	case <-time.After(8 * time.Minute):
		t.Fatal("the bus does not start")
	}
	w.open()
	return w
}

// newStore returns a world without a bus.
func newStore(t testing.TB, p plan, lease time.Duration) *world {
	t.Helper()
	w := &world{t: t, plan: p, lease: lease, dir: t.TempDir()}
	t.Cleanup(w.report)
	w.store, w.root = buckettest.New(t)
	config := buckettest.Config(t)
	target, err := url.Parse(config.Endpoint)
	w.must(err)
	w.proxy = startProxy(t, target.Host, p)
	return w
}

// open connects the test itself to the bus.
func (w *world) open() {
	w.t.Helper()
	w.bus = w.connect("test")
	nc, err := nats.Connect(w.address, nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond), nats.ReconnectBufSize(-1))
	w.must(err)
	w.t.Cleanup(nc.Close)
	w.js, err = natsjs.New(nc)
	w.must(err)
}

// connect opens a bus of its own, as each client has.
func (w *world) connect(name string) *jetstream.Bus {
	w.t.Helper()
	bus, err := jetstream.Connect(w.t.Context(), w.address, jetstream.Options{Create: true, Replicas: w.replicas, Lease: w.lease, Name: name})
	w.must(err)
	w.t.Cleanup(func() { bus.Close() })
	return bus
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) cutsFile() string { return filepath.Join(w.dir, "cuts") }

// add starts one more process.
func (w *world) add(role string, cuts func() cut) *process {
	w.t.Helper()
	name := named(role, len(w.processes)+1)
	config := buckettest.Config(w.t)
	config.Endpoint, config.Stall = w.proxy.endpoint(), 5*time.Second
	p := part{
		Role: role, Name: name, Cuts: w.cutsFile(), Dir: filepath.Join(w.dir, name), Lease: w.lease,
		Bus: w.address, Store: config, Root: w.root, Slots: 1, Sweep: w.sweep,
	}
	w.must(os.MkdirAll(p.Dir, 0o700))
	s := start(w.t, p, cuts)
	w.processes = append(w.processes, s)
	return s
}

// apply deploys a pipeline.
func (w *world) apply(text string) pipeline.Pipeline {
	w.t.Helper()
	p, err := pipeline.Parse("chaos.yaml", []byte(text))
	w.must(err)
	p.Trainer.MaxLost = manyLost
	_, _, err = dispatch.Apply(w.t.Context(), w.bus, p)
	w.must(err)
	return p
}

// manyLost is how many workers may die with a job: here they are killed for other reasons than the
// job, and more often on a slow machine.
const manyLost = 1000

// put uploads one object as upstream does.
func (w *world) put(key, body string) {
	w.t.Helper()
	_, err := w.store.Put(w.t.Context(), w.root.Join(key), strings.NewReader(body), int64(len(body)))
	w.must(err)
}

// eventually waits until a condition is true; missing returns what is still missing, "" if nothing
// is.
func (w *world) eventually(within time.Duration, missing func(ctx context.Context) string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), within)
	defer cancel()
	var last string
	for ctx.Err() == nil {
		if last = missing(ctx); last == "" {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
	w.t.Fatalf("after %s: %s", within, last)
}

const tailBytes = 6 << 10

// report logs what is needed to understand a failure.
func (w *world) report() {
	if !w.t.Failed() {
		return
	}
	w.t.Logf("to repeat it: go test ./infra/chaos -run '^%s$' -servers %d -seed %d -jobs %d -events %d -minutes %d", w.t.Name(), *serversFlag, w.plan.seed, *jobsFlag, *eventsFlag, *minutesFlag)
	logs, _ := filepath.Glob(filepath.Join(w.dir, "*.log"))
	for _, path := range append(logs, w.cutsFile()) {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		w.t.Logf("%s, %d bytes, ends:\n%s", filepath.Base(path), len(text), text[max(0, len(text)-tailBytes):])
	}
}

// logOf returns the log of a process.
func (w *world) logOf(p *process) string {
	text, err := os.ReadFile(p.log)
	w.must(err)
	return string(text)
}

// faults match log lines that no process may ever write.
func (w *world) faults() (faults []string) {
	all := w.processes
	if w.busProcess != nil {
		all = append(slices.Clip(all), w.busProcess)
	}
	for _, p := range all {
		for _, word := range []string{"WARNING: DATA RACE", "panic: ", "panic in", "fatal error: "} {
			if strings.Contains(w.logOf(p), word) {
				faults = append(faults, fmt.Sprintf("%s says %q", p.part.Name, word))
			}
		}
	}
	return faults
}

// read returns the whole of an object.
func (w *world) read(ctx context.Context, ref storage.Ref) ([]byte, error) {
	body, _, err := w.store.Open(ctx, ref, "")
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
}
