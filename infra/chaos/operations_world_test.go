//go:build cluster

package chaos

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/infra/chaos/history"
	"github.com/stoker-ml/stoker/infra/cluster"
)

// campaign is a world on three servers, with a ledger of its operations.
type campaign struct {
	*world
	cluster *cluster.Cluster
	ledger  *ledger
	buses   [cluster.Size]*jetstream.Bus // one through each server
	raw     [cluster.Size]*nats.Conn

	// A job that was enqueued again for its dead letter, and is lost with the queue, is not
	// enqueued once more: its run has an outcome, that of the first try. So the queue is not lost
	// (locked) while one is under way (read-locked).
	retries sync.RWMutex

	// One worker at a time is frozen until another has done its job, else all could wait for each
	// other.
	freezing sync.Mutex

	mu     sync.Mutex
	counts map[string]int
	diary  []string
}

const (
	operationSweep = time.Second
	requestTime    = 10 * time.Second // one request to the bus
)

// newCampaign starts three servers and a store, applies the pipelines that operations share, and
// starts dispatchers, workers and a bridge, each on a server of its own.
func newCampaign(t testing.TB, p plan) *campaign {
	t.Helper()
	w := newStore(t, p, lease)
	w.replicas, w.sweep = cluster.Size, operationSweep
	c := &campaign{world: w, cluster: cluster.Start(t, filepath.Join(w.dir, "cluster")), ledger: newLedger(), counts: map[string]int{}}
	w.address = c.cluster.URL(0)
	w.open()
	for i := range cluster.Size {
		w.address = c.cluster.URL(i)
		c.buses[i] = w.connect(fmt.Sprintf("operator-%d", i))
		nc, err := nats.Connect(w.address, nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond), nats.PingInterval(time.Second))
		w.must(err)
		t.Cleanup(nc.Close)
		c.raw[i] = nc
	}
	w.inputs()
	for _, text := range sharedPipelines {
		c.must(c.apply(t.Context(), 0, text))
	}
	return c
}

// staff starts dispatchers, workers and a bridge, by turns on the three servers.
func (c *campaign) staff(workerCuts, dispatcherCuts func() cut) {
	for i := range dispatchers {
		c.address = c.cluster.URL((i + 1) % cluster.Size)
		c.add(roleDispatcher, dispatcherCuts)
	}
	for i := range cluster.Size {
		c.address = c.cluster.URL(i)
		c.add(roleWorker, workerCuts)
	}
	c.address = c.cluster.URL(2)
	c.add(roleBridge, never)
}

func (c *campaign) count(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[what]++
}

// note counts what is done, and writes down when.
func (c *campaign) note(what, about string) {
	c.count(what)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.diary = append(c.diary, fmt.Sprintf("%s %s %s", time.Now().UTC().Format("15:04:05.000"), what, about))
}

// table returns how often each thing has happened.
func (c *campaign) table() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out strings.Builder
	for _, what := range slices.Sorted(maps.Keys(c.counts)) {
		fmt.Fprintf(&out, "  %-40s %5d\n", what, c.counts[what])
	}
	return out.String()
}

// insist does what the bus may refuse for a while, until it is done. An error that a retry can't
// solve is returned.
func (c *campaign) insist(ctx context.Context, do func(context.Context) error) error {
	for {
		try, cancel := context.WithTimeout(ctx, requestTime)
		err := do(try)
		cancel()
		invalid, _ := errors.AsType[*events.Invalid](err)
		if err == nil || ctx.Err() != nil || invalid != nil || errors.Is(err, dispatch.ErrTooLate) {
			return err
		}
		c.count("requests tried again")
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// apply deploys a pipeline through a server.
func (c *campaign) apply(ctx context.Context, server int, text string) error {
	p, err := pipeline.Parse("chaos.yaml", []byte(text))
	if err != nil {
		return err
	}
	p.Trainer.MaxLost = manyLost
	return c.insist(ctx, func(ctx context.Context) error {
		_, _, err := dispatch.Apply(ctx, c.buses[server], p)
		return err
	})
}

// publish publishes an event one to three times, each time through another server, and notes what
// was acknowledged.
func (c *campaign) publish(ctx context.Context, r *rand.Rand, event events.Event) error {
	began, first := time.Now(), r.IntN(cluster.Size)
	for i := range 1 + r.IntN(cluster.Size) {
		err := c.insist(ctx, func(ctx context.Context) error {
			receipt, err := c.buses[(first+i)%cluster.Size].Publish(ctx, event)
			if err == nil {
				c.ledger.acked(history.Published{
					Run: history.Run{Pipeline: event.Pipeline, Run: event.Run}, Kind: string(event.Data.Kind()), Source: event.Source, ID: event.ID,
					Sequence: receipt.Sequence, Sent: began,
				})
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("publish %s of run %s/%s: %w", event.Data.Kind(), event.Pipeline, event.Run, err)
		}
		c.count("events published")
	}
	return nil
}

// rest waits until no violation remains that may disappear by itself, and returns the history and
// its violations. It waits as long as the clocks were wrong, because some work may take that long.
func (c *campaign) rest() (h history.History, found []history.Violation) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), restTime)
	defer cancel()
	for {
		read, err := history.Read(ctx, c.raw[0])
		if err == nil {
			h = c.ledger.complete(read)
			if found = h.Check(); !slices.ContainsFunc(found, func(v history.Violation) bool { return v.Pending }) {
				return h, found
			}
		}
		select {
		case <-ctx.Done():
			if h.Now.IsZero() {
				c.t.Fatalf("read the history: %v", err)
			}
			return h, found
		case <-time.After(time.Second):
		}
	}
}

const restTime = 3*time.Minute + maxOperationSkew

// judge reports the violations, and shows the history of each run concerned.
func (c *campaign) judge(h history.History, found []history.Violation) {
	c.t.Helper()
	shown := map[history.Run]bool{}
	for _, v := range found {
		c.t.Errorf("%s (pending: %t)", v, v.Pending)
		if v.Run != (history.Run{}) && !shown[v.Run] && len(shown) < mostRunsShown {
			shown[v.Run] = true
			c.t.Logf("history of run %s:\n%s%s", v.Run, h.Of(v.Run), c.said(v.Run))
		}
	}
	for _, fault := range append(c.faults(), c.models()...) {
		c.t.Error(fault)
	}
	for _, s := range c.cluster.Servers {
		if text := s.Panicked(); text != "" {
			c.t.Errorf("%s: %s", s.Name, text)
		}
	}
	if c.t.Failed() {
		c.t.Logf("what was done:\n%s", strings.Join(c.diary, "\n"))
	}
}

// said returns what dispatchers and workers log about a run.
func (c *campaign) said(run history.Run) string {
	var out strings.Builder
	for _, p := range c.processes {
		for line := range strings.Lines(said(c.logOf(p), run)) {
			out.WriteString(p.part.Name + ": " + line)
		}
	}
	return out.String()
}

// said returns the lines of a log about a run.
func said(log string, run history.Run) string {
	var out strings.Builder
	for line := range strings.Lines(log) {
		if strings.Contains(line, fmt.Sprintf("run=%q", run.Run)) || strings.Contains(line, "run="+run.Run+" ") {
			out.WriteString(line)
		}
	}
	return out.String()
}

const mostRunsShown = 20 // runs whose history is printed

// models checks that the newest model of each run is complete, committed, and as in its event.
func (c *campaign) models() (faults []string) {
	newest := map[history.Run]events.Recorded{}
	for recorded, err := range c.buses[0].Read(c.t.Context(), events.Query{Kinds: []events.Kind{events.KindModelTrained}}) {
		if err = errors.Join(err, recorded.Err); err != nil {
			return []string{fmt.Sprintf("read models: %v", err)}
		}
		newest[history.Run{Pipeline: recorded.Event.Pipeline, Run: recorded.Event.Run}] = recorded
	}
	for run, recorded := range newest {
		if err := c.whole(c.t.Context(), recorded.Event.Data.(*events.ModelTrained)); err != nil {
			faults = append(faults, fmt.Sprintf("event %d, model of run %s: %v", recorded.Message.Sequence, run, err))
		}
	}
	return faults
}
