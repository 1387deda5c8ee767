package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// Size is how many servers a cluster has.
const Size = 3

// Cluster is three servers, S1 to S3, and the links between them and to their clients.
type Cluster struct {
	Servers [Size]*Server
	// What clients of a server go through; when the server is down, they get to the next one.
	Clients [Size]*Link
	links   map[[2]int]*Link
}

// Start builds the server if need be, starts three of them, and returns when they have elected a
// leader that sees all three. They are killed when the test ends.
func Start(t testing.TB, dir string) *Cluster {
	t.Helper()
	c, err := start(t, dir)
	if err != nil {
		t.Fatalf("start cluster: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := c.Await(ctx); err != nil {
		t.Fatalf("start cluster: %v", err)
	}
	return c
}

func start(t testing.TB, dir string) (*Cluster, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	binary, err := build(dir)
	if err != nil {
		return nil, err
	}
	c := &Cluster{links: map[[2]int]*Link{}}
	for i := range Size {
		name := fmt.Sprintf("S%d", i+1)
		c.Servers[i] = &Server{Name: name, binary: binary, dir: filepath.Join(dir, name)}
	}
	t.Cleanup(c.close)
	if err := c.wire(); err != nil {
		return nil, err
	}
	for _, s := range c.Servers {
		if err := s.Start(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// wire makes the links. Of two servers, the later one dials, so that all their traffic goes through
// one link.
func (c *Cluster) wire() (err error) {
	for i, s := range c.Servers {
		c.Clients[i], err = newLink(func() (all []string) {
			for k := range Size {
				all = append(all, c.Servers[(i+k)%Size].clientAddress())
			}
			return all
		})
		if err != nil {
			return err
		}
		for j := range i {
			to := c.Servers[j]
			l, err := newLink(func() []string { return []string{to.clusterAddress()} })
			if err != nil {
				return err
			}
			c.links[[2]int{i, j}] = l
			s.routes = append(s.routes, l.Address())
		}
	}
	return nil
}

func (c *Cluster) close() {
	for _, s := range c.Servers {
		_ = s.Kill()
	}
	for _, l := range c.all() {
		l.close()
	}
}

func (c *Cluster) all() (links []*Link) {
	for _, l := range c.Clients {
		if l != nil {
			links = append(links, l)
		}
	}
	for _, l := range c.links {
		links = append(links, l)
	}
	return links
}

// Between returns the link between two servers and the direction in it that leads from one to the
// other.
func (c *Cluster) Between(from, to int) (*Link, Direction) {
	if from > to {
		return c.links[[2]int{from, to}], Forward
	}
	return c.links[[2]int{to, from}], Backward
}

// Slow delays what goes from one server to another.
func (c *Cluster) Slow(from, to int, delay time.Duration) {
	l, way := c.Between(from, to)
	l.Delay(way, delay)
}

// Isolate cuts a server off from the other two. If silent, no bytes arrive but connections stay
// open, as when a switch fails; otherwise they are reset.
func (c *Cluster) Isolate(server int, silent bool) {
	for other := range Size {
		if other == server {
			continue
		}
		l, way := c.Between(server, other)
		if !silent {
			l.Break()
			continue
		}
		l.Hold(way)
		l.Hold(1 - way)
	}
}

// Heal does what Calm does, and sets every clock right.
func (c *Cluster) Heal() error {
	errs := []error{c.Calm()}
	for _, s := range c.Servers {
		errs = append(errs, s.SetClock(0))
	}
	return errors.Join(errs...)
}

// Calm starts and thaws every server, and ends what disturbs links. Clocks stay as they are set.
func (c *Cluster) Calm() error {
	for _, l := range c.all() {
		l.Heal()
	}
	var errs []error
	for _, s := range c.Servers {
		errs = append(errs, s.Thaw())
		s.mu.Lock()
		down := s.cmd == nil
		s.mu.Unlock()
		if down {
			errs = append(errs, s.Start())
		}
	}
	return errors.Join(errs...)
}

// URL returns where clients of a server connect.
func (c *Cluster) URL(server int) string { return "nats://" + c.Clients[server].Address() }

// Leader returns the number of the server that leads a stream; an error if there is none that
// answers.
func (c *Cluster) Leader(nc *nats.Conn, stream string) (int, error) {
	name, _, err := c.info(nc, "$JS.API.STREAM.INFO."+stream)
	if err != nil {
		return 0, fmt.Errorf("leader of %s: %w", stream, err)
	}
	for i, s := range c.Servers {
		if s.Name == name {
			return i, nil
		}
	}
	return 0, fmt.Errorf("leader of %s: none", stream)
}

func (c *Cluster) info(nc *nats.Conn, subject string) (leader string, current int, err error) {
	msg, err := nc.Request(subject, nil, 2*time.Second)
	if err != nil {
		return "", 0, err
	}
	var said struct {
		Cluster struct {
			Leader   string
			Replicas []struct{ Current bool }
		}
	}
	if err := json.Unmarshal(msg.Data, &said); err != nil {
		return "", 0, err
	}
	for _, r := range said.Cluster.Replicas {
		if r.Current {
			current++
		}
	}
	return said.Cluster.Leader, current, nil
}

// StepDown asks a stream's leader to hand over, to the named server if preferred is one.
func (c *Cluster) StepDown(nc *nats.Conn, stream string, preferred int) error {
	var body []byte
	if preferred >= 0 {
		body = fmt.Appendf(nil, `{"placement":{"preferred":%q}}`, c.Servers[preferred].Name)
	}
	_, err := nc.Request("$JS.API.STREAM.LEADER.STEPDOWN."+stream, body, 2*time.Second)
	return err
}

// Await returns when a stream of three copies can be made, which needs a leader that sees all three
// servers.
func (c *Cluster) Await(ctx context.Context) error {
	var last error
	for ctx.Err() == nil {
		if last = c.probe(); last == nil {
			return nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
	return fmt.Errorf("the servers make no stream of %d copies: %w", Size, last)
}

func (c *Cluster) probe() error {
	nc, err := nats.Connect(c.URL(0), nats.NoReconnect())
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := nc.JetStream(nats.MaxWait(5 * time.Second))
	if err != nil {
		return err
	}
	_, err = js.AddStream(&nats.StreamConfig{Name: "PROBE", Subjects: []string{"probe"}, Replicas: Size})
	if err == nil {
		_, err = js.Publish("probe", nil)
	}
	if err == nil {
		err = js.DeleteStream("PROBE")
	}
	return err
}
