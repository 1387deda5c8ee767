//go:build cluster

package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"

	"github.com/stoker-ml/stoker/infra/cluster"
)

// mishapOnBus is one thing that goes wrong, for a while.
type mishapOnBus struct {
	name  string
	begin func(*campaign, *rand.Rand) error
}

// busMishaps are all there are. Each ends with Calm, except clocks, which stay as they are.
var busMishaps = []mishapOnBus{
	{"kill the leader of a stream", (*campaign).killLeader},
	{"kill a server", func(c *campaign, r *rand.Rand) error { return c.cluster.Servers[r.IntN(cluster.Size)].Kill() }},
	{"move the leader of a stream", (*campaign).moveLeader},
	{"freeze a server", func(c *campaign, r *rand.Rand) error { return c.cluster.Servers[r.IntN(cluster.Size)].Freeze() }},
	{"isolate a server, silently", func(c *campaign, r *rand.Rand) error { c.cluster.Isolate(r.IntN(cluster.Size), true); return nil }},
	{"isolate a server, resetting", func(c *campaign, r *rand.Rand) error { c.cluster.Isolate(r.IntN(cluster.Size), false); return nil }},
	{"hold one way between two servers", (*campaign).holdLink},
	{"slow one way between two servers", (*campaign).slowLink},
	{"cut clients off a server", (*campaign).cutClients},
	{"slow clients of a server", (*campaign).slowClients},
	{"set a server's clock", (*campaign).setClock},
	{"kill a process", (*campaign).killProcess},
}

// busStreams are those whose leaders are killed and moved.
var busStreams = []string{"EVENTS", "JOBS", "DEAD", "STUDIES", "BUCKETS", "KV_PIPELINES", "KV_JOINS", "KV_GATES", "KV_LEASES"}

// disturb has one thing after another go wrong until ctx ends, each for some seconds, with some
// seconds of calm between them. One link is slow all the time.
func (c *campaign) disturb(ctx context.Context) error {
	r := c.plan.rand(streamFaults)
	slow := time.Duration(1+r.IntN(8)) * time.Millisecond
	from := r.IntN(cluster.Size)
	var order []int
	for ctx.Err() == nil {
		if len(order) == 0 {
			order = r.Perm(len(busMishaps))
		}
		next := busMishaps[order[0]]
		order = order[1:]
		c.cluster.Slow(from, (from+1)%cluster.Size, slow)
		if err := next.begin(c, r); err != nil {
			c.count("fault without effect: " + next.name)
			c.t.Logf("%s: %v", next.name, err)
		}
		c.note("fault: "+next.name, "")
		sleepFor(ctx, time.Duration(500+r.IntN(6000))*time.Millisecond)
		if err := c.cluster.Calm(); err != nil {
			return fmt.Errorf("end fault %q: %w", next.name, err)
		}
		sleepFor(ctx, time.Duration(1000+r.IntN(4000))*time.Millisecond)
	}
	return nil
}

// leader finds the leader of some stream, asking each server in turn.
func (c *campaign) leader(r *rand.Rand) (stream string, leader int, err error) {
	stream = busStreams[r.IntN(len(busStreams))]
	for _, nc := range c.raw {
		if leader, err = c.cluster.Leader(nc, stream); err == nil {
			return stream, leader, nil
		}
	}
	return stream, 0, err
}

func (c *campaign) killLeader(r *rand.Rand) error {
	_, leader, err := c.leader(r)
	if err != nil {
		return err
	}
	return c.cluster.Servers[leader].Kill()
}

func (c *campaign) moveLeader(r *rand.Rand) error {
	stream, leader, err := c.leader(r)
	if err != nil {
		return err
	}
	return c.cluster.StepDown(c.raw[leader], stream, -1)
}

// pair picks two servers.
func pair(r *rand.Rand) (from, to int) {
	from = r.IntN(cluster.Size)
	return from, (from + 1 + r.IntN(cluster.Size-1)) % cluster.Size
}

func (c *campaign) holdLink(r *rand.Rand) error {
	l, way := c.cluster.Between(pair(r))
	l.Hold(way)
	return nil
}

func (c *campaign) slowLink(r *rand.Rand) error {
	from, to := pair(r)
	c.cluster.Slow(from, to, time.Duration(5+r.IntN(200))*time.Millisecond)
	return nil
}

func (c *campaign) cutClients(r *rand.Rand) error {
	c.cluster.Clients[r.IntN(cluster.Size)].Break()
	return nil
}

func (c *campaign) slowClients(r *rand.Rand) error {
	l := c.cluster.Clients[r.IntN(cluster.Size)]
	l.Delay(cluster.Direction(r.IntN(2)), time.Duration(5+r.IntN(300))*time.Millisecond)
	return nil
}

// maxOperationSkew is how far the clock of a server is off at most.
const maxOperationSkew = 3 * time.Minute

// setClock sets the clock of one server, the same one in the whole plan, off by a minute or more.
func (c *campaign) setClock(r *rand.Rand) error {
	offset := time.Minute + time.Duration(r.Int64N(int64(maxOperationSkew-time.Minute)))
	if r.IntN(2) == 0 {
		offset = -offset
	}
	return c.cluster.Servers[int(c.plan.seed%cluster.Size)].SetClock(offset)
}

func (c *campaign) killProcess(r *rand.Rand) error {
	p := c.processes[r.IntN(len(c.processes))]
	p.end(syscall.SIGKILL)
	return nil
}
