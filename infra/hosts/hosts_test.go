//go:build hosts

package hosts

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"
)

// Events are published all the while: a server is killed and comes back, a host with a server, a
// dispatcher and a busy worker loses its network for longer than a lease and comes back. Then: one
// model for each run, one commit for each execution, an empty queue, no dead letters, and three
// equal copies of everything.
//
// The functions on host a are connected to the server on host b when it goes.
func TestNothingIsLostBetweenHosts(t *testing.T) {
	c := newCluster(t)
	runs := c.publish("calm", 4)
	c.wantModels(runs)

	leader := c.leaderOfJobs()
	t.Logf("the server on %s, which leads the queue, is killed", leader)
	c.servers[leader].kill()
	runs = append(runs, c.publish("without-a-server", 6)...)
	c.wantModels(runs)
	c.servers[leader].back()
	c.wantCopies()

	t.Log("host b loses its network while its worker is at work")
	before := c.workers["b"].count("job claimed")
	runs = append(runs, c.publish("before-the-cut", 8)...)
	c.eventually("the worker on b has a job", func(context.Context) string {
		if c.workers["b"].count("job claimed") == before {
			return "none taken"
		}
		return ""
	})
	c.hosts["b"].cut()
	began := time.Now()
	runs = append(runs, c.publish("without-a-host", 6)...)
	c.wantModels(runs) // those that b had, too
	t.Logf("without host b, all %d models were there after %s", len(runs), time.Since(began).Round(time.Second))
	c.hosts["b"].heal()

	t.Log("it comes back, and works on")
	c.wantCopies()
	after := c.workers["b"].count("job done")
	for wave := 0; c.workers["b"].count("job done") == after; wave++ {
		runs = append(runs, c.publish(fmt.Sprintf("healed-%d", wave), 4)...)
		c.wantModels(runs)
	}
	for _, fault := range c.audit(t.Context(), runs) {
		t.Error(fault)
	}
	t.Logf("%d runs; jobs taken by the workers: a %d, b %d", len(runs), c.workers["a"].count("job claimed"), c.workers["b"].count("job claimed"))
}

// wantModels waits for a model of each run.
func (c *cluster) wantModels(runs []string) {
	c.t.Helper()
	c.eventually("every run has a model", func(ctx context.Context) string {
		trained, _, err := c.outcomes(ctx)
		if err != nil {
			return err.Error()
		}
		missing := slices.DeleteFunc(slices.Clone(runs), func(run string) bool { return len(trained[run]) > 0 })
		if len(missing) > 0 {
			return fmt.Sprintf("none of %v", missing)
		}
		return ""
	})
}
