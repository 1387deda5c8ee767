package cluster

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// The wall clock of one server is set off while it runs, and what it stores is stamped by that
// clock.
func TestOneServersClockIsSetOff(t *testing.T) {
	t.Parallel()
	c := Start(t, t.TempDir())
	nc, js := connect(t, c, 1)
	if _, err := js.AddStream(&nats.StreamConfig{Name: "CLOCK", Subjects: []string{"clock"}, Replicas: Size}); err != nil {
		t.Fatal(err)
	}
	lead(t, c, nc, "CLOCK", 2)
	for _, offset := range []time.Duration{0, 5 * time.Minute, -7 * time.Minute} {
		if err := c.Servers[2].SetClock(offset); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() bool { // the server reads the new offset from a pipe
			ack, err := js.Publish("clock", nil)
			if err != nil {
				return false
			}
			msg, err := js.GetMsg("CLOCK", ack.Sequence)
			return err == nil && (time.Since(msg.Time)+offset).Abs() < 30*time.Second
		})
	}
}

// After a leader is killed, another one is elected, no acknowledged message is lost, and the killed
// server can return.
func TestALeaderIsKilled(t *testing.T) {
	t.Parallel()
	c := Start(t, t.TempDir())
	nc, js := connect(t, c, 0)
	if _, err := js.AddStream(&nats.StreamConfig{Name: "LOG", Subjects: []string{"log"}, Replicas: Size}); err != nil {
		t.Fatal(err)
	}
	lead(t, c, nc, "LOG", 2)
	ack, err := js.Publish("log", []byte("kept"))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Servers[2].Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { leader, err := c.Leader(nc, "LOG"); return err == nil && leader != 2 })
	if msg, err := js.GetMsg("LOG", ack.Sequence); err != nil || string(msg.Data) != "kept" {
		t.Errorf("the message is %v, %v", msg, err)
	}
	if err := c.Heal(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool {
		_, current, err := c.info(nc, "$JS.API.STREAM.INFO.LOG")
		return err == nil && current == Size-1
	})
}

// A server that is cut off in silence leads no more, and after the cut it does as the others.
func TestAServerIsIsolated(t *testing.T) {
	t.Parallel()
	c := Start(t, t.TempDir())
	nc, js := connect(t, c, 0)
	if _, err := js.AddStream(&nats.StreamConfig{Name: "LOG", Subjects: []string{"log"}, Replicas: Size}); err != nil {
		t.Fatal(err)
	}
	for _, silent := range []bool{true, false} {
		lead(t, c, nc, "LOG", 1)
		c.Isolate(1, silent)
		eventually(t, func() bool { leader, err := c.Leader(nc, "LOG"); return err == nil && leader != 1 })
		if err := c.Heal(); err != nil {
			t.Fatal(err)
		}
	}
}

// Each direction of a link is delayed independently.
func TestALinkIsSlowOneWay(t *testing.T) {
	t.Parallel()
	c := Start(t, t.TempDir())
	nc, _ := connect(t, c, 0)
	const delay = 300 * time.Millisecond
	before, err := nc.RTT()
	if err != nil {
		t.Fatal(err)
	}
	for _, way := range []Direction{Forward, Backward} {
		c.Clients[0].Delay(way, delay)
		if rtt, err := nc.RTT(); err != nil || rtt < delay {
			t.Errorf("direction %d: an answer takes %s, %v; before, %s", way, rtt, err, before)
		}
		c.Clients[0].Heal()
	}
}

func connect(t *testing.T, c *Cluster, server int) (*nats.Conn, nats.JetStreamContext) {
	t.Helper()
	nc, err := nats.Connect(c.URL(server), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := nc.JetStream(nats.MaxWait(5 * time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return nc, js
}

func lead(t *testing.T, c *Cluster, nc *nats.Conn, stream string, server int) {
	t.Helper()
	eventually(t, func() bool {
		leader, err := c.Leader(nc, stream)
		if err == nil && leader == server {
			return true
		}
		_ = c.StepDown(nc, stream, server)
		return false
	})
}

// metaLeader returns the number of the server that leads the metadata, by what the servers log.
func (c *Cluster) metaLeader(t *testing.T) (leader int) {
	t.Helper()
	eventually(t, func() bool {
		for i, s := range c.Servers {
			text, err := os.ReadFile(s.Log())
			if err != nil {
				t.Fatal(err)
			}
			changes := metaChange.FindAllString(string(text), -1)
			if len(changes) > 0 && strings.HasPrefix(changes[len(changes)-1], "Self") {
				leader = i
				return true
			}
		}
		return false
	})
	return leader
}

var metaChange = regexp.MustCompile("(Self is new )?JetStream cluster (new |no |new remote )?metadata leader")

// eventually waits until something is so, for as long as the test may run: how long it takes
// depends on what else the machine has to do.
func eventually(t *testing.T, so func() bool) {
	t.Helper()
	const reserve = time.Minute // for the report and for cleaning up
	began := time.Now()
	deadline, limited := t.Deadline()
	for !so() {
		if limited && time.Until(deadline) < reserve {
			t.Fatalf("not so within %s, and the time of the tests is over", time.Since(began))
		}
		time.Sleep(100 * time.Millisecond)
	}
}
