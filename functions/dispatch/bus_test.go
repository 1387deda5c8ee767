package dispatch_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/local/natsserver"
)

const onTheBus = `
pipeline: penguin
module: builtin:dnn
trainer: {hyperparameters: run, expire_after: 6s}
concurrency: 2
`

// The same as in memory, on a real bus: runs that are limited, superseded, paused, cancelled, and
// expired.
func TestOnARealBus(t *testing.T) {
	t.Parallel()
	server, err := natsserver.Start(t.Context(), natsserver.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	bus := connect(t, server)
	apply(t, bus, onTheBus)

	ctx, stop := context.WithCancel(t.Context())
	running, ctx := errgroup.WithContext(ctx)
	for range 3 {
		d, err := dispatch.New(ctx, connect(t, server), slog.New(slog.NewTextHandler(t.Output(), nil)))
		if err != nil {
			t.Fatal(err)
		}
		d.SweepEvery = 200 * time.Millisecond
		running.Go(func() error { return d.Run(ctx) })
	}
	worker := connect(t, server)
	running.Go(func() error { return trainEverything(ctx, worker) })

	if err := dispatch.Pause(t.Context(), bus, "penguin"); err != nil {
		t.Fatal(err)
	}
	const runs = 12
	for i := range runs {
		run := fmt.Sprintf("run %d", i)
		for range 2 {
			publish(t, bus, run, "h", hparams("s3://bkt/hp"))
			publish(t, bus, run, "t", transform())
		}
	}
	publish(t, bus, "never complete", "t", transform())
	until(t, "all runs are ready", func() bool {
		gate, err := dispatch.ReadAdmission(t.Context(), bus, "penguin")
		return err == nil && len(gate.Waiting) == runs
	})
	if got, err := dispatch.Cancel(t.Context(), bus, "penguin", "run 3"); err != nil || got.Job != "" {
		t.Fatalf("%+v, %v", got, err)
	}
	if err := dispatch.Resume(t.Context(), bus, "penguin"); err != nil {
		t.Fatal(err)
	}
	until(t, "every run has come to something", func() bool { return outcomes(t, bus) == runs+1 })
	until(t, "the gate is open", func() bool {
		gate, err := dispatch.ReadAdmission(t.Context(), bus, "penguin")
		return err == nil && gate.IsOpen()
	})
	for i := range runs {
		run := fmt.Sprintf("run %d", i)
		want := join.Dispatched
		if i == 3 {
			want = join.Ended
		}
		if j := joinOf(t, bus, run); j.State != want {
			t.Errorf("%s is %s", run, j.State)
		}
	}
	if got := called(t, bus, "run 3"); got != "cancelled: cancelled" {
		t.Errorf("run 3 failed with %q", got)
	}
	if j := joinOf(t, bus, "never complete"); j.State != join.Ended || j.Ending.Kind != events.FailureIncomplete {
		t.Errorf("the run that lacks an event is %+v", j)
	}
	stop()
	if err := running.Wait(); err != nil {
		t.Error(err)
	}
}

func connect(t *testing.T, server *natsserver.Server) *jetstream.Bus {
	t.Helper()
	bus, err := jetstream.Connect(t.Context(), server.URL(), jetstream.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bus.Close() })
	return bus
}

// trainEverything is a worker that finishes each job at once.
func trainEverything(ctx context.Context, bus events.Bus) error {
	for ctx.Err() == nil {
		claim, err := bus.Claim(ctx, events.FunctionTrain, []string{"cpu"}, time.Second)
		if err != nil {
			continue
		}
		job, err := claim.Job()
		if err != nil {
			return err
		}
		if _, err := bus.Publish(ctx, outcomeOf(job)); err != nil && ctx.Err() == nil {
			return err
		}
		if err := claim.Ack(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// outcomes counts the runs that have a model or a failure in the log; each must have one.
func outcomes(t *testing.T, bus events.Bus) int {
	t.Helper()
	count := map[string]int{}
	query := events.Query{Kinds: events.OutcomeKinds()}
	for r, err := range bus.Read(t.Context(), query) {
		if err != nil {
			t.Fatal(err)
		}
		if count[r.Event.Run]++; count[r.Event.Run] > 1 {
			t.Fatalf("%s: two outcomes in the log", r.Event.Run)
		}
	}
	return len(count)
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	const most = 10 * time.Minute // far more than needed on busy machines; it ends a failing test
	for deadline := time.Now().Add(most); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", most, what)
		}
	}
}
