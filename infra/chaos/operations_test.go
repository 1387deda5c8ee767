//go:build cluster

package chaos

import (
	"context"
	"fmt"
	"regexp"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

const operators = 4 // operations at once

// On three servers with a slow link, publishers and operators do all that they do, while servers
// are killed, frozen and cut off, leaders move, one server's clock jumps by minutes, and
// dispatchers and workers are killed. Then the history of each run is judged.
func TestOperationsOnThreeServers(t *testing.T) {
	p := newPlan(t, *jobsFlag)
	p.kind = true // failures of the store are covered by the tests on one server
	c := newCampaign(t, p)
	c.staff(inTurn(p.workerCuts()), inTurn(p.dispatcherCuts()))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute+time.Duration(*minutesFlag)*time.Minute+time.Duration(p.jobs)*10*time.Second)
	defer cancel()
	calm, stop := context.WithCancel(ctx)
	var faults errgroup.Group
	faults.Go(func() error { return c.disturb(calm) })
	err := c.operate(ctx)
	stop()
	if disturbed := faults.Wait(); disturbed != nil {
		t.Error(disturbed)
	}
	if err != nil {
		t.Error(err)
	}
	c.must(c.cluster.Heal())
	began := time.Now()
	h, found := c.rest()
	t.Logf("%d events of %d runs, at rest %s after the last fault\n%s", len(h.Events), len(h.Joins), time.Since(began).Round(time.Second), c.table())
	c.judge(h, found)
}

// operate does the operations of the plan, some at once, the n-th not before its share of the
// minutes is over. One that fails although its requests were tried again until the time was over is
// an error.
func (c *campaign) operate(ctx context.Context) error {
	list := c.plan.operations()
	began, pace := time.Now(), time.Duration(*minutesFlag)*time.Minute/time.Duration(len(list))
	if pace == 0 {
		pace = time.Second // makes sure that some operations have a fault
	}
	var all errgroup.Group
	all.SetLimit(operators)
	for n, o := range list {
		sleepFor(ctx, time.Until(began.Add(time.Duration(n)*pace)))
		all.Go(func() error {
			c.note("operation: "+o.name, fmt.Sprint(n))
			s := &step{campaign: c, n: n, r: c.plan.rand(streamOperations + uint64(n))}
			if err := o.do(s, ctx); err != nil {
				return fmt.Errorf("operation %d, %s: %w", n, o.name, err)
			}
			return nil
		})
	}
	return all.Wait()
}

// seldom are operations that concern everything at once, or take long.
var seldom = map[string]bool{"purge the queue": true, "replay": true, "collect garbage": true, "search": true, "freeze a worker past its lease": true}

// operations returns those of a plan in their order: in each round every one comes three times, the
// seldom ones once.
func (p plan) operations() (list []operation) {
	r, only := p.rand(streamOperations-1<<32), regexp.MustCompile(*onlyFlag)
	for len(list) < p.jobs {
		var round []operation
		for _, o := range operations() {
			if !only.MatchString(o.name) {
				continue
			}
			round = append(round, o)
			if !seldom[o.name] {
				round = append(round, o, o)
			}
		}
		r.Shuffle(len(round), func(i, j int) { round[i], round[j] = round[j], round[i] })
		list = append(list, round...)
	}
	return list[:p.jobs]
}
