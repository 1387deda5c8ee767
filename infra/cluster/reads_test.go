package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runs"
)

// slowLink is the delay of messages from the first server, which leads, to the third one.
const slowLink = 100 * time.Millisecond

// lagging is a cluster in which one server leads every stream and another one hears of it late, and
// a bus at each of the two.
type lagging struct {
	*Cluster
	leader, late *jetstream.Bus
	conn         *nats.Conn // to the late server
}

// startLagging has S1 lead and S3 hear of it late.
func startLagging(t *testing.T) lagging {
	t.Helper()
	return Start(t, t.TempDir()).lag(t, 0, 2)
}

func (c *Cluster) lag(t *testing.T, leads, late int) lagging {
	t.Helper()
	buses := c.buses(t, Size)
	nc, _ := connect(t, c, leads)
	for _, stream := range []string{"EVENTS", "JOBS", "DEAD", "STUDIES", "KV_PIPELINES", "KV_JOINS", "KV_GATES", "KV_LEASES"} {
		lead(t, c, nc, stream, leads)
	}
	c.Slow(leads, late, slowLink)
	conn, _ := connect(t, c, late)
	return lagging{c, buses[leads], buses[late], conn}
}

func (l lagging) buckets(t *testing.T, name string) (leader, late events.KV) {
	t.Helper()
	leader, err := l.leader.KV(t.Context(), name)
	if err == nil {
		late, err = l.late.KV(t.Context(), name)
	}
	if err != nil {
		t.Fatal(err)
	}
	return leader, late
}

// TestReadsSeeWhatWasAcknowledged, through a server whose own copy has not got it yet: that it
// hasn't, a direct get of NATS's shows.
func TestReadsSeeWhatWasAcknowledged(t *testing.T) {
	t.Parallel()
	started := Start(t, t.TempDir())
	// The leader of the metadata makes consumers: where it is the late server, none is made later
	// than what the leader of a stream sends.
	makes := started.metaLeader(t)
	c := started.lag(t, (makes+1)%Size, makes)
	leader, late := c.buckets(t, events.KVGates)
	stream, err := js.New(c.conn)
	if err != nil {
		t.Fatal(err)
	}
	copied, err := stream.KeyValue(t.Context(), events.KVGates)
	if err != nil {
		t.Fatal(err)
	}
	old := 0
	for i := range 20 {
		for key, get := range map[string]func(string) error{
			fmt.Sprint("copy", i): func(key string) error {
				_, err := copied.Get(t.Context(), key)
				if errors.Is(err, js.ErrKeyNotFound) {
					old++
				}
				return nil
			},
			fmt.Sprint("leader", i): func(key string) error {
				_, err := late.Get(t.Context(), key)
				return err
			},
		} {
			if _, err := leader.Create(t.Context(), key, []byte("{}")); err != nil {
				t.Fatal(err)
			}
			if err := get(key); err != nil {
				t.Errorf("the KV bucket: %v", err)
			}
		}
		c.readsEvent(t, i)
	}
	if old == 0 {
		t.Error("no copy was behind: the test has shown nothing")
	}
	c.readsStudy(t)
}

// readsEvent publishes an event, and reads the log to its end elsewhere.
func (l lagging) readsEvent(t *testing.T, i int) {
	t.Helper()
	receipt, err := l.leader.Publish(t.Context(), event("penguin", fmt.Sprint("run", i)))
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range []events.Query{{Pipeline: "penguin", Run: fmt.Sprint("run", i)}, {Kinds: []events.Kind{events.KindTransformReady}}} {
		var last uint64
		for r, err := range l.late.Read(t.Context(), query) {
			if err != nil {
				t.Fatal(err)
			}
			last = r.Message.Sequence
		}
		if last != receipt.Sequence {
			t.Errorf("the log by %+v ends at %d, and has %d", query, last, receipt.Sequence)
		}
	}
}

func (l lagging) readsStudy(t *testing.T) {
	t.Helper()
	study := events.Study{Pipeline: "penguin", ID: fmt.Sprintf("%064x", 1)}
	var after uint64
	for range 20 {
		before := after
		var err error
		if after, err = l.leader.AppendStudy(t.Context(), study, []byte("{}"), after); err != nil {
			t.Fatal(err)
		}
		for _, from := range []uint64{0, before} {
			var last uint64
			for entry, err := range l.late.ReadStudy(t.Context(), study, from, false) {
				if err != nil {
					t.Fatal(err)
				}
				last = entry.Sequence
			}
			if last != after {
				t.Errorf("the study behind %d ends at %d, and has %d", from, last, after)
			}
		}
	}
}

func event(pipeline, run string) events.Event {
	return events.Event{
		ID: "t", Source: "/up", Pipeline: pipeline, Run: run,
		Data: &events.TransformReady{TransformGraph: "s3://bkt/g", TransformedExamples: []events.Examples{{URI: "s3://bkt/tx", Splits: []string{"train"}}}},
	}
}

func spec(t *testing.T, name string, steps int) pipeline.Pipeline {
	t.Helper()
	p, err := pipeline.Parse("p.yaml", fmt.Appendf(nil, "pipeline: %s\nmodule: builtin:dnn\ntrainer: {wait_for: [transform], hyperparameters: none, train_args: {num_steps: %d}}\n", name, steps))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestAnEventBehindItsPipelineIsNoDeadLetter: both were acknowledged, and the dispatcher's server
// has neither yet.
func TestAnEventBehindItsPipelineIsNoDeadLetter(t *testing.T) {
	t.Parallel()
	c := startLagging(t)
	d, err := dispatch.New(t.Context(), c.late, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = d.Run(ctx) })
	defer func() { stop(); running.Wait() }()
	const runs = 20
	for i := range runs {
		name := fmt.Sprint("p", i)
		if _, _, err := dispatch.Apply(t.Context(), c.leader, spec(t, name, 1)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.leader.Publish(t.Context(), event(name, "monday")); err != nil {
			t.Fatal(err)
		}
	}
	for range runs {
		claim, err := c.leader.Claim(t.Context(), events.FunctionTrain, []string{"cpu"}, 2*time.Minute)
		if err == nil {
			err = claim.Ack(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for deadLetter, err := range c.leader.DeadLetters(t.Context()) {
		t.Errorf("dead letter %+v, %v", deadLetter.Reason, err)
	}
}

// TestWhatSaysThatNothingHasToChangeIsRight rolls back a pipeline, and pauses it, through a server
// that has the previous value.
func TestWhatSaysThatNothingHasToChangeIsRight(t *testing.T) {
	t.Parallel()
	c := startLagging(t)
	one, two := spec(t, "x", 1), spec(t, "x", 2)
	for range 5 {
		for _, p := range []pipeline.Pipeline{one, two} {
			if _, _, err := dispatch.Apply(t.Context(), c.leader, p); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := dispatch.Apply(t.Context(), c.late, one); err != nil {
			t.Fatal(err)
		}
		if now, err := runs.Open(c.leader, runs.Options{}).ReadPipeline(t.Context(), "x", 0); err != nil || now.Spec.Trainer.TrainArgs.NumSteps != 1 {
			t.Errorf("apply has changed nothing: %d steps, %v", now.Spec.Trainer.TrainArgs.NumSteps, err)
		}
		for _, paused := range []bool{true, false} {
			first, then := dispatch.Resume, dispatch.Pause
			if !paused {
				first, then = dispatch.Pause, dispatch.Resume
			}
			if err := errors.Join(first(t.Context(), c.leader, "x"), then(t.Context(), c.late, "x")); err != nil {
				t.Fatal(err)
			}
			if gate, err := runs.Open(c.leader, runs.Options{}).ReadAdmission(t.Context(), "x"); err != nil || gate.Paused != paused {
				t.Errorf("paused %t, %v; want %t", gate.Paused, err, paused)
			}
		}
	}
}

// TestEqualMessagesAtOnceAreOne: a server refuses a message while an equal one is on its way to the
// others, before that can be read.
func TestEqualMessagesAtOnceAreOne(t *testing.T) {
	t.Parallel()
	c := startLagging(t)
	c.Slow(0, 1, slowLink) // so that none is acknowledged sooner
	deadLetter := func(i int) events.DeadLetter {
		return events.DeadLetter{Message: events.Message{Stream: "EVENTS", Sequence: uint64(i + 1)}, Reason: events.DeadReason{Message: "bad"}}
	}
	for i := range 10 {
		var mu sync.Mutex
		var new int
		var publishers sync.WaitGroup
		for n := range 6 {
			bus := []*jetstream.Bus{c.leader, c.late}[n%2]
			publishers.Go(func() {
				receipt, err := bus.Publish(t.Context(), event("penguin", fmt.Sprint("run", i)))
				if err = errors.Join(err, bus.DeadLetter(t.Context(), deadLetter(i))); err != nil {
					t.Errorf("event %d: %v", i, err)
				}
				mu.Lock()
				defer mu.Unlock()
				if err == nil && !receipt.Duplicate {
					new++
				}
			})
		}
		publishers.Wait()
		if new != 1 {
			t.Errorf("event %d: %d publishers got the answer that it is new", i, new)
		}
	}
	deadLetters := 0
	for _, err := range c.leader.DeadLetters(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		deadLetters++
	}
	if deadLetters != 10 {
		t.Errorf("%d dead letters, want 10", deadLetters)
	}
}
