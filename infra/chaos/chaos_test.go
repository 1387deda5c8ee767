package chaos

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/infra/cluster"
)

var (
	seedFlag    = flag.Uint64("seed", 0, "of the plan; 0: any")
	jobsFlag    = flag.Int("jobs", 24, "runs that TestOneModelForEachCause is made of")
	serversFlag = flag.Int("servers", 1, "of the bus in TestOneModelForEachCause: 1 or 3")
	minutesFlag = flag.Int("minutes", 0, "over which TestOperationsOnThreeServers spreads its operations; 0: one each second")
	onlyFlag    = flag.String("only", "", "pattern of the operations that TestOperationsOnThreeServers does; default: all")
	eventsFlag  = flag.Int("events", 1000, "events that TestAFloodOfEqualEvents publishes")
)

// newPlan prints its seed before anything happens.
func newPlan(t testing.TB, jobs int) plan {
	t.Helper()
	p := plan{seed: *seedFlag, jobs: jobs}
	if p.seed == 0 {
		p.seed = rand.Uint64N(1_000_000) + 1
	}
	fmt.Fprintf(os.Stderr, "%s: seed %d\n", t.Name(), p.seed)
	return p
}

const (
	workers     = 4
	dispatchers = 2
	lease       = 2 * time.Second
)

// Workers and dispatchers are killed at every point between their effects, the bus is ended and
// started again, the store refuses, delays, resets and truncates, events come several times in any
// order, strangers send nonsense. Then: one commit for each execution and one ModelTrained for each
// run, none missing, the bytes of undisturbed trainings, and the nonsense among the dead letters.
func TestOneModelForEachCause(t *testing.T) {
	t.Parallel()
	p := newPlan(t, *jobsFlag)
	switch *serversFlag {
	case 1:
		oneModelOnOneServer(t, p)
	case cluster.Size:
		oneModelOnServers(t, p)
	default:
		t.Fatalf("-servers %d: expected 1 or %d", *serversFlag, cluster.Size)
	}
}

func oneModelOnOneServer(t *testing.T, p plan) {
	w := newWorld(t, p, lease)
	up := newUpstream(w, p.jobs)
	reader := &reader{w: w, bus: w.connect("reader")}
	poisons := w.chaos(up, reader)

	var o outcome
	w.eventually(time.Minute+time.Duration(p.jobs)*3*time.Second, func(ctx context.Context) string {
		var err error
		if o, err = w.outcome(ctx); err != nil {
			return err.Error()
		}
		return o.missing(up.runs, poisons)
	})
	for _, fault := range append(w.audit(t.Context(), o, up.runs, poisons), reader.found()...) {
		t.Error(fault)
	}
	w.coverage()
}

// chaos runs the plan until all its events are published and all its failures injected; the
// functions keep running.
func (w *world) chaos(up *upstream, reader *reader) (poisons []*poison) {
	buses := w.clients()
	workerCuts, dispatcherCuts := inTurn(w.plan.workerCuts()), inTurn(w.plan.dispatcherCuts())
	for range dispatchers {
		w.add(roleDispatcher, dispatcherCuts)
	}
	for range workers {
		w.add(roleWorker, workerCuts)
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute+time.Duration(w.plan.jobs)*3*time.Second)
	reading, stop := context.WithCancel(w.t.Context())
	var background errgroup.Group
	background.Go(func() error { reader.follow(reading); return nil })
	w.t.Cleanup(func() { stop(); _ = background.Wait() })

	defer cancel()
	running, ctx := errgroup.WithContext(ctx)
	running.Go(func() error { return up.publishAll(ctx, buses, reader.count) })
	for round := range 1 + w.plan.jobs/60 {
		poisons = append(poisons, w.poisons(round)...)
	}
	running.Go(func() error {
		for i, p := range poisons {
			if err := waitFor(ctx, func() bool { return reader.count() >= i*w.plan.jobs/len(poisons) }); err != nil {
				return err
			}
			if err := w.inject(ctx, p); err != nil {
				return err
			}
		}
		return nil
	})
	running.Go(func() error {
		for _, stop := range w.plan.busStops() {
			if err := waitFor(ctx, func() bool { return reader.count() >= stop.models }); err != nil {
				return err
			}
			if err := w.stopBus(ctx, stop); err != nil {
				return err
			}
		}
		return nil
	})
	if err := running.Wait(); err != nil {
		w.t.Fatalf("the plan got stuck at %d models: %v", reader.count(), err)
	}
	return poisons
}

// coverage returns what the plan covered. A plan of several rounds must have cut at every point.
func (w *world) coverage() {
	text, err := os.ReadFile(w.cutsFile())
	w.must(err)
	done := map[string]int{}
	for line := range strings.Lines(string(text)) {
		_, at, _ := strings.Cut(strings.TrimSpace(line), "\t")
		done[at]++
	}
	w.t.Logf("cut off: %v; the store: %v; the bus: %v", done, w.proxy.counts(), w.plan.busStops())
	for _, c := range append(w.plan.workerCuts(), w.plan.dispatcherCuts()...) {
		if at := fmt.Sprintf("%s\t%t", c.Point, c.After); done[at] == 0 && w.plan.jobs >= 120 {
			w.t.Errorf("nobody was cut off %s", c)
		}
	}
}
