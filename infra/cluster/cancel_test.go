package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/runs"
)

// cancelling is a bus whose dispatcher is beaten to it: right before it marks a run as dispatched,
// the run is cancelled through another server.
type cancelling struct {
	events.Bus
	cancel func(key string) error
}

func (b cancelling) KV(ctx context.Context, name string) (events.KV, error) {
	kv, err := b.Bus.KV(ctx, name)
	if err != nil || name != events.KVJoins {
		return kv, err
	}
	return cancellingJoins{kv, b.cancel}, nil
}

type cancellingJoins struct {
	events.KV
	cancel func(key string) error
}

func (r cancellingJoins) Update(ctx context.Context, key string, value []byte, at uint64) (uint64, error) {
	if bytes.Contains(value, []byte(`"state":"dispatched"`)) {
		if err := r.cancel(key); err != nil {
			return 0, err
		}
	}
	return r.KV.Update(ctx, key, value, at)
}

// A run whose cancelling was acknowledged, while a dispatcher whose server hears of it late was
// about to enqueue its job, is not trained.
func TestARunThatIsCancelledAsItIsDispatchedIsNotTrained(t *testing.T) {
	t.Parallel()
	const count = 5
	c := startLagging(t)
	if _, _, err := dispatch.Apply(t.Context(), c.leader, spec(t, "penguin", 1)); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	cancelled := map[string]bool{}
	cancel := func(key string) error {
		mu.Lock()
		defer mu.Unlock()
		if cancelled[key] {
			return nil
		}
		cancelled[key] = true
		join, err := runs.Open(c.leader, runs.Options{}).Join(t.Context(), runs.Key{Pipeline: "penguin", Run: fmt.Sprint("run", len(cancelled)-1)})
		if err == nil {
			_, err = dispatch.Cancel(t.Context(), c.leader, join.Pipeline, join.Run)
		}
		return err
	}
	d := startDispatcher(t, cancelling{c.late, cancel})
	defer d()
	w := &trainer{}
	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	working.Go(func() { _ = w.on(c.late).Run(ctx) })
	defer func() { stop(); working.Wait() }()
	for i := range count {
		run := fmt.Sprint("run", i)
		publish(t, c.leader, event("penguin", run))
		eventually(t, func() bool { return endOf(t, c.leader, run) != "" })
	}
	time.Sleep(5 * slowLink) // for what may still be on its way
	c.quiet(t)
	for i := range count {
		if end := endOf(t, c.leader, fmt.Sprint("run", i)); end != "run.ended" {
			t.Errorf("run %d ended with %s", i, end)
		}
	}
	if trained := w.attempts(); len(trained) > 0 {
		t.Errorf("cancelled runs were trained: %v", trained)
	}
}

// endOf describes the events that end a run: run.ended if it ended without a job, and the kinds of
// other outcomes.
func endOf(t *testing.T, bus events.Bus, run string) (end string) {
	t.Helper()
	for recorded, err := range bus.Read(t.Context(), events.Query{Pipeline: "penguin", Run: run}) {
		if err = errors.Join(err, recorded.Err); err != nil {
			t.Fatal(err)
		}
		switch {
		case events.EndsRunWithoutJob(recorded.Event):
			end += "run.ended"
		case events.EndsRun(recorded.Event):
			end += string(recorded.Event.Data.Kind())
		}
	}
	return end
}
