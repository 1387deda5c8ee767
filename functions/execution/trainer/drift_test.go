package trainer_test

import (
	"context"
	"errors"
	"path"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/execution/trainer"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/worker"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

// The effects of a training, in their order.
const (
	effectStage    = "stage"
	effectBlobs    = "blobs"
	effectManifest = "manifest"
	effectCommit   = "commit"
	effectEvent    = "event"
	effectAck      = "ack"
)

// effectOf returns the effect that a call of the store belongs to, "" for none.
func effectOf(c storagetest.Call) string {
	switch base := path.Base(c.Ref.Key); {
	case c.Op == storagetest.OpOpen && strings.HasPrefix(c.Ref.Key, "up/tx/"):
		return effectStage
	case c.Op != storagetest.OpPut && c.Op != storagetest.OpPutIf:
		return ""
	case base == "manifest.json":
		return effectManifest
	case base == "commit.json":
		return effectCommit
	case strings.HasPrefix(c.Ref.Key, "penguin/Trainer/model/"):
		return effectBlobs
	}
	return ""
}

// mortal is one worker process. It dies right before an effect: after that, none of its calls
// reaches the bus or the store.
type mortal struct {
	events.Bus
	before string
	kill   context.CancelFunc

	mu   sync.Mutex
	dead bool
}

var errDead = errors.New("the process is dead")

func (m *mortal) lives(effect string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if effect != "" && effect == m.before {
		m.dead = true
		m.kill()
	}
	if m.dead {
		return errDead
	}
	return nil
}

func (m *mortal) store(b *bench) storage.Store {
	return storagetest.Faulty(b.store, func(c storagetest.Call) storagetest.Fault {
		return storagetest.Fault{Refuse: m.lives(effectOf(c))}
	})
}

func (m *mortal) Publish(ctx context.Context, f events.Event) (events.Receipt, error) {
	if err := m.lives(effectEvent); err != nil {
		return events.Receipt{}, err
	}
	return m.Bus.Publish(ctx, f)
}

func (m *mortal) KV(ctx context.Context, name string) (events.KV, error) {
	if err := m.lives(""); err != nil {
		return nil, err
	}
	return m.Bus.KV(ctx, name)
}

func (m *mortal) Claim(ctx context.Context, f events.Function, classes []string, wait time.Duration) (events.Claim, error) {
	claim, err := m.Bus.Claim(ctx, f, classes, wait)
	if err != nil {
		return nil, err
	}
	return mortalClaim{claim, m}, nil
}

type mortalClaim struct {
	events.Claim
	of *mortal
}

func (c mortalClaim) Ack(ctx context.Context) error {
	if err := c.of.lives(effectAck); err != nil {
		return err
	}
	return c.Claim.Ack(ctx)
}

func (c mortalClaim) Nak(ctx context.Context, delay time.Duration, cause events.FailureKind, why string) error {
	if err := c.of.lives(""); err != nil {
		return err
	}
	return c.Claim.Nak(ctx, delay, cause, why)
}

// digestRunner is a runner whose module has a digest.
type digestRunner struct {
	*fakeRunner
	digest string
}

func (g digestRunner) Digest(context.Context, module.Source) (string, error) { return g.digest, nil }

// drift is a change that gives the same job another execution.
type drift struct {
	module        string // of the pipeline
	before, after string // digests of it
	change        func(t *testing.T, b *bench)
}

func drifts() map[string]drift {
	same := func(*testing.T, *bench) {}
	one, two := "sha256:"+strings.Repeat("1", 64), "sha256:"+strings.Repeat("2", 64)
	return map[string]drift{
		"the module is uploaded again":      {"./train.py", one, two, same},
		"a release has another builtin":     {"builtin:dnn", "builtin:dnn@1", "builtin:dnn@2", same},
		"an input is written over":          {"builtin:dnn", "builtin:dnn@1", "builtin:dnn@1", func(t *testing.T, b *bench) { b.put(t, "up/tx/Split-train/data-0", "other rows") }},
		"nothing changes: a cached attempt": {"builtin:dnn", "builtin:dnn@1", "builtin:dnn@1", same},
	}
}

// A worker dies between any two effects of a job, and for the next attempt the job is another
// execution. One model is announced for its cause: that of the first execution if its event is in
// the log, else that of the current inputs.
func TestOneModelIsAnnouncedHoweverItsIdentityDrifts(t *testing.T) {
	t.Parallel()
	for name, d := range drifts() {
		for _, effect := range []string{effectStage, effectBlobs, effectManifest, effectCommit, effectEvent, effectAck} {
			t.Run(name+", dies before "+effect, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { driftAt(t, d, effect) })
			})
		}
	}
}

func driftAt(t *testing.T, d drift, effect string) {
	b, bus := setup(t, writesModel), bustest.NewMemory(0)
	enqueue(t, bus, strings.Replace(spec, "builtin:dnn", d.module, 1))
	ctx, kill := context.WithTimeout(t.Context(), 5*time.Second)
	first := &mortal{Bus: bus, before: effect, kill: kill}
	trainOn(ctx, t, b, first, first.store(b), d.before)
	if !first.dead {
		t.Fatal("the first worker lives")
	}
	d.change(t, b)
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
	defer stop()
	trainOn(ctx, t, b, bus, b.store, d.after)
	if _, err := bus.Queued(t.Context(), "j1"); !errors.Is(err, events.ErrNotFound) {
		t.Errorf("the job is on its queue still: %v", err)
	}
	wantOneModel(t, b, bus, map[bool]string{true: d.before, false: d.after}[effect == effectAck])
}

// trainOn works on jobs until ctx ends.
func trainOn(ctx context.Context, t *testing.T, b *bench, bus events.Bus, store storage.Store, digest string) {
	t.Helper()
	executor := execution.New(store, digestRunner{b.runner, digest}, execution.Options{Root: storage.Ref{Bucket: "stoker"}, WorkDir: t.TempDir()})
	functions := []worker.Function{trainer.New(executor, trainer.Options{})}
	if err := worker.New(bus, worker.Options{Functions: functions}).Run(ctx); err != nil {
		t.Error(err)
	}
}

func enqueue(t *testing.T, bus events.Bus, text string) {
	t.Helper()
	cause := events.Event{ID: "cause", Source: "/test", Pipeline: "penguin", Run: "monday", Data: &events.TransformReady{TransformGraph: "s3://stoker/up/graph"}}
	receipt, err := bus.Publish(t.Context(), cause)
	if err != nil {
		t.Fatal(err)
	}
	j := job(t, "j1", "monday", text)
	j.Causes = []events.Cause{{Kind: events.KindTransformReady, Source: "/test", ID: "cause", Sequence: receipt.Sequence}}
	if err := bus.Enqueue(t.Context(), j); err != nil {
		t.Fatal(err)
	}
}

// wantOneModel wants one model in the log, which has a module's digest and is complete in the
// store, and no failure.
func wantOneModel(t *testing.T, b *bench, bus *bustest.Memory, digest string) {
	t.Helper()
	var models []*events.ModelTrained
	for recorded, err := range bus.Read(t.Context(), events.Query{Kinds: events.OutcomeKinds(), Run: "monday"}) {
		if err != nil {
			t.Fatal(err)
		}
		data, ok := recorded.Event.Data.(*events.ModelTrained)
		if !ok || recorded.Event.Causation != "cause" {
			t.Fatalf("event %+v", recorded.Event)
		}
		models = append(models, data)
	}
	if len(models) != 1 || models[0].Module != digest || models[0].Job != "j1" {
		t.Fatalf("models %+v, want one of %s", models, digest)
	}
	place, ok := storage.ExecutionAt(models[0].Model.URI)
	if _, _, err := storage.Committed(t.Context(), b.store, place.Root, place.Execution); !ok || err != nil {
		t.Errorf("the model is not whole: %v", err)
	}
}
