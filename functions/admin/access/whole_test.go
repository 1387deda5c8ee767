package access_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/execution/trainer"
	"github.com/stoker-ml/stoker/functions/execution/tuner"
	"github.com/stoker-ml/stoker/functions/module/builtin"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/worker"
	"github.com/stoker-ml/stoker/local/demo"
	"github.com/stoker-ml/stoker/storage"
)

// place is the first tenant's part of the store.
var place = access.Place{Root: storage.Ref{Bucket: "models", Key: "acme"}, Inputs: []storage.Ref{{Bucket: "uploads", Key: "acme"}}}

// searched trains on hyperparameters that it searches for, so that every kind of job occurs.
const searched = `pipeline: penguin
module: builtin:dnn
trainer:
  wait_for: [transform, hparams]
  train_args: {num_steps: 5}
  custom_config: {label_key: species, num_classes: 3}
tuner:
  when: always
  tune_args: {num_parallel_trials: 1}
  custom_config: {label_key: species, num_classes: 3, space: {learning_rate: {min: 0.001, max: 0.1, sampling: log}}}
  study: {algorithm: random, max_trials: 2}
`

// TestEachRoleDoesItsWork does a whole run, each part of it with only the permissions of its role,
// over TLS: an upload, its event, the join, a search with its trials, training, the models, and
// reading all of it.
func TestEachRoleDoesItsWork(t *testing.T) {
	t.Parallel()
	walk(t, startObjects(t, place, "models", "uploads"))
}

func walk(t *testing.T, store objects) {
	t.Helper()
	server := startTenants(t)
	deploy(t, server)
	upload(t, store)
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	outcome := make(chan events.Event, 1)
	running, ctx := errgroup.WithContext(ctx)
	ctx, stop := context.WithCancel(ctx)
	running.Go(func() error { return dispatching(ctx, t, server) })
	running.Go(func() error { return working(ctx, t, server, store) })
	running.Go(func() error { defer stop(); return publishTwice(ctx, t, server, outcome) })
	if err := running.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if len(outcome) == 0 {
		t.Fatalf("the run has no outcome; the bus said %q", server.grumbles.all())
	}
	event := <-outcome
	trained, ok := event.Data.(*events.ModelTrained)
	if !ok {
		t.Fatalf("got %s: %+v", event.Data.Kind(), event.Data)
	}
	model, err := storage.ParseRef(trained.Model.URI)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := storage.List(t.Context(), store.as(t, "console", secretOf("console")), model); err != nil {
		t.Errorf("the console can't see the model: %v", err)
	}
	if lags, err := server.as(t, "acme", access.Dispatcher).QueueLags(t.Context()); err != nil || len(lags) == 0 {
		t.Errorf("the dispatcher can't read the lengths of queues: %v, %v", lags, err)
	}
	for _, said := range server.grumbles.all() {
		t.Error("refused to a role:", said)
	}
}

// deploy creates the streams, and applies the pipeline.
func deploy(t *testing.T, server tenants) {
	t.Helper()
	spec, err := pipeline.Parse("penguin.yaml", []byte(searched))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := dispatch.Apply(t.Context(), server.as(t, "acme", access.Operator), spec); err != nil {
		t.Fatal(err)
	}
}

func upload(t *testing.T, store objects) {
	t.Helper()
	if err := demo.Upload(t.Context(), store.as(t, "upstream", secretOf("upstream")), place.Inputs[0]); err != nil {
		t.Fatal(err)
	}
}

func dispatching(ctx context.Context, t *testing.T, server tenants) error {
	dispatcher, err := dispatch.New(ctx, server.as(t, "acme", access.Dispatcher), slog.New(server.grumbles))
	if err != nil {
		return err
	}
	return dispatcher.Run(ctx)
}

func working(ctx context.Context, t *testing.T, server tenants, objects objects) error {
	store := objects.as(t, "worker", secretOf("worker"))
	if err := storage.Probe(ctx, store, place.Root); err != nil {
		return err
	}
	host, err := runner.New(runner.Options{CacheDir: t.TempDir(), Builtins: builtin.Digests()})
	if err != nil {
		return err
	}
	defer host.Close()
	bus, log := server.as(t, "acme", access.Worker), slog.New(server.grumbles)
	executor := execution.New(store, host, execution.Options{Root: place.Root, WorkDir: t.TempDir(), CacheDir: t.TempDir(), Logger: log})
	tune := tuner.New(executor, bus)
	functions := []worker.Function{trainer.New(executor, trainer.Options{}), tune, tune.Trials()}
	return worker.New(bus, worker.Options{Functions: functions, Slots: 2, Logger: log}).Run(ctx)
}

// publishTwice publishes the run's event twice, as careful publishers do, and waits as the console
// does.
func publishTwice(ctx context.Context, t *testing.T, server tenants, outcome chan<- events.Event) error {
	upstream, console := server.as(t, "acme", access.Upstream), server.as(t, "acme", access.Console)
	event := demo.Events(place.Inputs[0], "monday")[1]
	for _, again := range []bool{false, true} {
		receipt, err := upstream.Publish(ctx, event)
		if err != nil {
			return err
		}
		if receipt.Duplicate != again {
			t.Errorf("published again %t, duplicate %t", again, receipt.Duplicate)
		}
	}
	for recorded, err := range console.Read(ctx, events.Query{Kinds: events.OutcomeKinds(), Run: "monday", Follow: true}) {
		if err != nil {
			return err
		}
		outcome <- recorded.Event
		return nil
	}
	return context.Cause(ctx)
}
