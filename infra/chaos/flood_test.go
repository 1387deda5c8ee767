package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/events"
)

const (
	flooders  = 8
	floodRuns = 5
)

const floodPipeline = `
pipeline: flood
module: builtin:tiny
trainer:
  wait_for: [examples]
  hyperparameters: none
`

// Eight clients publish at the same time, repeatedly, that the same examples are ready, for five
// runs in all. Half of the events have one id, which the bus stores once; the others have ids of
// their own, and all reach the dispatchers. The result is one model, and one event for each run.
func TestAFloodOfEqualEvents(t *testing.T) {
	t.Parallel()
	p := newPlan(t, floodRuns)
	w := newWorld(t, p, 4*lease)
	w.apply(floodPipeline)
	w.put("flood/Split-train/data", "rows")
	w.put("flood/Split-eval/data", "eval rows")
	for range dispatchers {
		w.add(roleDispatcher, never)
	}
	for range workers {
		w.add(roleWorker, never)
	}
	var runs []run
	for i := range floodRuns {
		runs = append(runs, run{
			pipeline: "flood", key: fmt.Sprintf("run %d", i), work: "flood", inputs: "flood", seed: tinySeed([]byte("null"), []byte("rows"), []byte("eval rows")),
		})
	}
	w.must(w.flood(runs, *eventsFlag))

	var o outcome
	w.eventually(time.Minute+time.Duration(*eventsFlag)*50*time.Millisecond, func(ctx context.Context) string {
		var err error
		if o, err = w.outcome(ctx); err != nil {
			return err.Error()
		}
		if left, err := w.unread(ctx); err != nil || left > 0 {
			return fmt.Sprintf("%d events are not dispatched (%v)", left, err)
		}
		return o.missing(runs, nil)
	})
	for _, fault := range w.audit(t.Context(), o, runs, nil) {
		t.Error(fault)
	}
}

// flood publishes count events.
func (w *world) flood(runs []run, count int) error {
	publishing, ctx := errgroup.WithContext(w.t.Context())
	for c := range flooders {
		bus, r := w.connect(fmt.Sprintf("client-%d", c)), w.plan.rand(streamUpstream+uint64(c))
		publishing.Go(func() error {
			for i := range count / flooders {
				if err := publish(ctx, bus, w.ready(runs[r.IntN(len(runs))], r, c, i)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return publishing.Wait()
}

// ready returns another announcement that the examples of a run are ready.
func (w *world) ready(r run, random *rand.Rand, client, number int) events.Event {
	id := "ready"
	if random.IntN(2) == 0 {
		id = fmt.Sprintf("ready-%d-%d", client, number)
	}
	return events.Event{ID: id, Source: "/upstream", Pipeline: r.pipeline, Run: r.key, Data: &events.ExamplesReady{
		Examples: []events.Examples{{URI: w.root.Join("flood").String()}},
	}}
}

// unread returns how many events the dispatchers have not handled.
func (w *world) unread(ctx context.Context) (uint64, error) {
	consumer, err := w.js.Consumer(ctx, "EVENTS", "dispatch")
	if err != nil {
		return 0, err
	}
	info, err := consumer.Info(ctx)
	if err != nil {
		return 0, err
	}
	return info.NumPending + uint64(info.NumAckPending), nil
}
