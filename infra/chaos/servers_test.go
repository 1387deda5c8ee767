package chaos

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/infra/chaos/history"
	"github.com/stoker-ml/stoker/infra/cluster"
)

// oneModelOnServers is TestOneModelForEachCause on a cluster: runs are published, cancelled, paused
// and superseded while links are slow and cut, servers killed, frozen and their clocks wrong,
// dispatchers and workers restarted, and the queue lost. Then the history of the bus is checked by
// package history, which is independent of the product.
func oneModelOnServers(t *testing.T, p plan) {
	w := newServers(t, p)
	limit := 2*time.Minute + time.Duration(p.jobs)*4*time.Second
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	w.must(w.begin(ctx))
	w.slowBehind()
	w.staff()
	w.must(w.trouble(ctx))
	w.must(w.calm(ctx))
	h, found := w.settle(maxSkew + 2*time.Minute + time.Duration(p.jobs)*time.Second)
	w.table(h)
	w.show(h, found)
	for _, s := range w.cluster.Servers {
		if crash := s.Panicked(); crash != "" {
			t.Errorf("%s crashed: %s", s.Name, crash)
		}
	}
}

// trouble distributes the orders among the disturbances: the orders of a disturbance are executed
// during it.
func (w *servers) trouble(ctx context.Context) error {
	orders, all := w.plan.orders(), w.plan.disturbances()
	for i, d := range all {
		some := orders[i*len(orders)/len(all) : (i+1)*len(orders)/len(all)]
		doing, ctx := errgroup.WithContext(ctx)
		doing.Go(func() error { return w.load(ctx, some) })
		doing.Go(func() error { return w.disturb(ctx, d) })
		if err := doing.Wait(); err != nil {
			return fmt.Errorf("in disturbance %d of %d, %s: %w", i, len(all), d, err)
		}
	}
	return nil
}

// settle waits until no violation is left that time may mend. That may take as long as clocks were
// off: a consumer notes by its leader's clock when it delivered a message, and its next leader
// waits until then before it delivers the message again.
func (w *servers) settle(within time.Duration) (h history.History, found []history.Violation) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), within)
	defer cancel()
	began := time.Now()
	defer func() { w.took = time.Since(began) }()
	for {
		read, err := w.read(ctx)
		if err == nil {
			h, found = read, read.Check()
			if !slices.ContainsFunc(found, func(v history.Violation) bool { return v.Pending }) {
				return h, found
			}
		}
		select {
		case <-ctx.Done():
			if err != nil {
				w.t.Errorf("read the history: %v", err)
			}
			return h, found
		case <-time.After(time.Second):
		}
	}
}

func (w *servers) read(ctx context.Context) (history.History, error) {
	h, err := history.Read(ctx, w.nc)
	w.mu.Lock()
	defer w.mu.Unlock()
	h.Published, h.Cancelled, h.Held, h.Skew = w.published, w.cancelled, w.held, maxSkew
	return h, err
}

// table returns what was done, with the outcomes.
func (w *servers) table(h history.History) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out strings.Builder
	fmt.Fprintf(&out, "seed %d, %d runs on %d servers, settled %s after the last disturbance\n", w.plan.seed, w.plan.jobs, cluster.Size,
		w.took.Round(time.Second))
	for _, what := range slices.Sorted(maps.Keys(w.counts)) {
		fmt.Fprintf(&out, "%6d  %s\n", w.counts[what], what)
	}
	results := map[string]int{}
	for _, e := range h.Events {
		if e.Source != "/upstream" {
			results[e.Kind+" "+e.Data.Reason+" of "+e.Source]++
		}
	}
	for _, join := range h.Joins {
		results["join "+join.State]++
	}
	for _, what := range slices.Sorted(maps.Keys(results)) {
		fmt.Fprintf(&out, "%6d  %s\n", results[what], what)
	}
	fmt.Fprint(os.Stderr, out.String())
}

const mostShown = 8 // runs whose history is shown

// show reports the violations, and the history of the runs that they concern.
func (w *servers) show(h history.History, found []history.Violation) {
	w.t.Helper()
	shown := map[history.Run]bool{}
	for _, v := range found {
		w.t.Errorf("%s (pending: %t)", v, v.Pending)
		if v.Run == (history.Run{}) || shown[v.Run] || len(shown) == mostShown {
			continue
		}
		shown[v.Run] = true
		w.t.Logf("history of run %s:\n%s%s", v.Run, h.Of(v.Run), w.said(v.Run))
	}
	if len(found) > 0 {
		w.t.Logf("to repeat it: go test ./infra/chaos -run '^%s$' -servers %d -seed %d -jobs %d", w.t.Name(), cluster.Size, w.plan.seed, w.plan.jobs)
		w.t.Logf("what was done:\n%s", strings.Join(slices.DeleteFunc(slices.Clone(w.diary), func(line string) bool {
			return strings.Contains(line, " publish ") || strings.Contains(line, " apply ") || strings.Contains(line, " cancel ")
		}), "\n"))
	}
}

// said returns what the test, dispatchers and workers log about a run.
func (w *servers) said(run history.Run) string {
	var out strings.Builder
	for _, line := range w.diary {
		if strings.Contains(line, run.String()) || strings.Contains(line, "apply "+run.Pipeline+":") {
			out.WriteString("test: " + line + "\n")
		}
	}
	logs, _ := filepath.Glob(filepath.Join(w.dir, "*.log"))
	for _, path := range logs {
		text, err := os.ReadFile(path)
		w.must(err)
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, fmt.Sprintf("run=%q", run.Run)) || strings.Contains(line, run.String()) {
				out.WriteString(line)
			}
		}
	}
	return out.String()
}
