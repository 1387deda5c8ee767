package dispatch_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/local/natsserver"
)

// poisonName is the pipeline whose events can't be handled.
const poisonName = "poison"

const poisonPipeline = `
pipeline: poison
module: builtin:dnn
trainer: {wait_for: [transform], train_args: {num_steps: 1}, hyperparameters: none}
concurrency: 1
`

// poisonBus counts deliveries, and fails the requests that one pipeline needs.
type poisonBus struct {
	events.Bus
	write         func() error // of the pipeline's joins
	revision      error        // of the pipeline
	offer         error        // of the pipeline's jobs
	deadLetterErr error

	cost time.Duration // of each request, on the bubble's clock

	mu        sync.Mutex
	delivered map[string]int // by pipeline
	delays    []time.Duration
}

func (b *poisonBus) deliveries(pipeline string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.delivered[pipeline]
}

func (b *poisonBus) Follow(ctx context.Context, reader string, wait time.Duration) (events.EventDelivery, error) {
	delivery, err := b.Bus.Follow(ctx, reader, wait)
	if err != nil {
		return nil, err
	}
	time.Sleep(b.cost)
	name, _, _ := events.ParseEventSubject(delivery.Message().Subject)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.delivered[name]++
	return delayed{delivery, b}, nil
}

// delayed records the delays with which events are handed back.
type delayed struct {
	events.EventDelivery
	b *poisonBus
}

func (d delayed) Nak(ctx context.Context, delay time.Duration) error {
	time.Sleep(d.b.cost)
	d.b.mu.Lock()
	d.b.delays = append(d.b.delays, delay)
	d.b.mu.Unlock()
	return d.EventDelivery.Nak(ctx, delay)
}

func (b *poisonBus) Enqueue(ctx context.Context, j events.Job) error {
	time.Sleep(b.cost)
	if j.Pipeline == poisonName && b.offer != nil {
		return b.offer
	}
	return b.Bus.Enqueue(ctx, j)
}

func (b *poisonBus) DeadLetter(ctx context.Context, d events.DeadLetter) error {
	time.Sleep(b.cost)
	if b.deadLetterErr != nil {
		return b.deadLetterErr
	}
	return b.Bus.DeadLetter(ctx, d)
}

func (b *poisonBus) KV(ctx context.Context, name string) (events.KV, error) {
	kv, err := b.Bus.KV(ctx, name)
	return poisonKV{kv, name, b}, err
}

type poisonKV struct {
	events.KV
	name string
	b    *poisonBus
}

func (r poisonKV) fails(key string) error {
	time.Sleep(r.b.cost)
	if r.name == events.KVJoins && r.b.write != nil && strings.HasPrefix(key, poisonName+"/") {
		return r.b.write()
	}
	return nil
}

func (r poisonKV) Create(ctx context.Context, key string, value []byte) (uint64, error) {
	if err := r.fails(key); err != nil {
		return 0, err
	}
	return r.KV.Create(ctx, key, value)
}

func (r poisonKV) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if err := r.fails(key); err != nil {
		return 0, err
	}
	return r.KV.Update(ctx, key, value, revision)
}

func (r poisonKV) Revision(ctx context.Context, key string, revision uint64) (events.Entry, error) {
	if key == poisonName && r.b.revision != nil {
		return events.Entry{}, r.b.revision
	}
	return r.KV.Revision(ctx, key, revision)
}

// entry writes an invalid entry.
func (b *poisonBus) entry(t *testing.T, kv, key, value string) {
	t.Helper()
	into, err := b.Bus.KV(t.Context(), kv)
	if err == nil {
		_, err = into.Create(t.Context(), key, []byte(value))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (b *poisonBus) applyPoison(t *testing.T, steps string) {
	t.Helper()
	p, err := pipeline.Parse("poison.yaml", []byte(strings.Replace(poisonPipeline, "num_steps: 1", "num_steps: "+steps, 1)))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := dispatch.Apply(t.Context(), b.Bus, p); err != nil {
		t.Fatal(err)
	}
}

func (b *poisonBus) publishPoison(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		event := events.Event{ID: fmt.Sprint(i), Source: "/test", Pipeline: poisonName, Run: fmt.Sprint("p", i), Data: transform()}
		if _, err := b.Publish(t.Context(), event); err != nil {
			t.Fatal(err)
		}
	}
}

func unreadablePipeline(t *testing.T, b *poisonBus) {
	b.entry(t, events.KVPipelines, poisonName, `{"pipeline":"poison","module":"builtin:dnn","added_later":{"a":1}}`)
}

// unanswered is the class of events for which the bus does not answer: they are redelivered sooner.
const unanswered = "a bus that does not answer"

// poisons are the classes of errors, each made permanent for one pipeline.
func poisons() map[string]func(*testing.T, *poisonBus) {
	failing := func(err error) func(*testing.T, *poisonBus) {
		return func(t *testing.T, b *poisonBus) { b.applyPoison(t, "1"); b.write = func() error { return err } }
	}
	return map[string]func(*testing.T, *poisonBus){
		"a pipeline of a newer version": unreadablePipeline,
		"an unreadable gate": func(t *testing.T, b *poisonBus) {
			b.applyPoison(t, "1")
			b.entry(t, events.KVGates, poisonName, `{"waiting": 7}`)
		},
		"unreadable joins that can't be repaired": func(t *testing.T, b *poisonBus) {
			failing(events.ErrRefused)(t, b)
			for i := range poisonEvents {
				b.entry(t, events.KVJoins, dispatch.JoinKey(poisonName, fmt.Sprint("p", i)), "{")
			}
		},
		"a pinned revision that is gone": func(t *testing.T, b *poisonBus) {
			b.applyPoison(t, "1")
			b.offer, b.revision = events.ErrRefused, events.ErrNotFound
		},
		"no permission to write joins":     failing(events.ErrRefused),
		"an event too large for any join":  failing(events.ErrTooLarge),
		"a request that takes too long":    failing(context.DeadlineExceeded),
		unanswered:                         failing(events.ErrUnavailable),
		"a closed watch":                   failing(events.ErrClosed),
		"a job queue that refuses the job": func(t *testing.T, b *poisonBus) { b.applyPoison(t, "1"); b.offer = events.ErrRefused },
		// The pipeline is unknown.
		"dead letters that are refused": func(_ *testing.T, b *poisonBus) { b.deadLetterErr = events.ErrRefused },
		"a defect that panics at these events": func(t *testing.T, b *poisonBus) {
			b.applyPoison(t, "1")
			b.write = func() error { panic("poison") }
		},
	}
}

const (
	// Each second as many events fail as are handled at once.
	poisonEvents = 5 * dispatch.DefaultConcurrency
	otherEvents  = 200
	// Time for the other events: about five times what they need undisturbed.
	enough = 4 * time.Second
	// Pause of the dispatcher while the bus does not answer: see events.Pause.
	longestPause = 375 * time.Millisecond
)

// An event that fails permanently, for whatever reason, must not hold up the events of other
// pipelines. Time is synctest's, and each request takes a fixed time, so that the throughput is the
// same on every machine.
func TestEventsThatAlwaysFailDoNotHoldUpOthers(t *testing.T) {
	t.Parallel()
	undisturbed := timeOfOthers(t, "nothing", func(*testing.T, *poisonBus) {})
	for name, poison := range poisons() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			most := undisturbed * 6 / 5
			if name == unanswered {
				// An event that had begun just before the others arrived, and one after each
				// failing event.
				most += 3 * longestPause
			}
			if took := timeOfOthers(t, name, poison); took > most {
				t.Errorf("%d events of another pipeline took %v, %v without failing events", otherEvents, took, undisturbed)
			}
		})
	}
}

// timeOfOthers returns how long the events of another pipeline take while the poisoned one's fail.
func timeOfOthers(t *testing.T, name string, poison func(*testing.T, *poisonBus)) (took time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &poisonBus{Bus: bustest.NewMemory(0), cost: time.Millisecond, delivered: map[string]int{}}
		poison(t, b)
		apply(t, b.Bus, alone)
		stop := b.dispatches(t)
		defer stop()
		if name != "nothing" {
			b.publishPoison(t, poisonEvents)
		}
		began := time.Now()
		time.Sleep(30 * time.Second)
		if name == "a pinned revision that is gone" {
			b.applyPoison(t, "2")
			time.Sleep(30 * time.Second)
		}
		failed := b.deliveries(poisonName)
		if wait := time.Since(began); name != "nothing" && (failed < poisonEvents || failed > poisonEvents*rounds(wait, name == unanswered)) {
			t.Errorf("%d failing events were delivered %d times within %v", poisonEvents, failed, wait)
		}
		took = b.othersAreDispatched(t, failed)
	})
	return took
}

// rounds returns how often an event is delivered at most within a time, if it is handed back with
// the delays of events.RedeliveryDelay, or of RedeliveryDelayAway.
func rounds(within time.Duration, away bool) (n int) {
	for delay := 3 * time.Second / 4; within > 0; delay *= 2 {
		if away {
			delay = min(delay, 3*time.Second)
		}
		within -= delay
		n++
	}
	return n
}

// othersAreDispatched publishes events of another pipeline and returns how long it takes until they
// are dispatched. The failing events, handed back with growing delays, are handled in between once
// each at most.
func (b *poisonBus) othersAreDispatched(t *testing.T, failed int) time.Duration {
	t.Helper()
	for i := range otherEvents {
		publish(t, b.Bus, fmt.Sprint("run", i), "t", transform())
	}
	began := time.Now()
	for b.deliveries("penguin") < otherEvents && time.Since(began) < enough {
		time.Sleep(time.Millisecond)
	}
	for dispatchedRuns(t, b.Bus, "penguin") < otherEvents && time.Since(began) < enough {
		time.Sleep(time.Millisecond)
	}
	took := time.Since(began)
	if again := b.deliveries(poisonName) - failed; again > poisonEvents {
		t.Errorf("failing events were delivered %d times while %d others waited", again, otherEvents)
	}
	if done := dispatchedRuns(t, b.Bus, "penguin"); done != otherEvents {
		t.Errorf("%d of %d events of another pipeline are dispatched", done, otherEvents)
	}
	return took
}

// dispatches runs a dispatcher until stop, and checks that it ends without an error.
func (b *poisonBus) dispatches(t *testing.T) (stop func()) {
	t.Helper()
	d, err := dispatch.New(t.Context(), b, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the dispatcher ended: %v", err)
		}
	}
}

func dispatchedRuns(t *testing.T, bus events.Bus, pipeline string) (n int) {
	t.Helper()
	joins, err := bus.KV(t.Context(), events.KVJoins)
	if err != nil {
		t.Fatal(err)
	}
	for entry, err := range joins.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if j, err := dispatch.DecodeJoin(events.Entry(entry)); err == nil && j.Pipeline == pipeline && j.State == join.Dispatched {
			n++
		}
	}
	return n
}

// JetStream redelivers before it delivers new messages: many failing events, all due again at once
// as after an outage, are delivered first, each once, and do not hold up others after that.
func TestManyFailingEventsOnARealBusDoNotHoldUpOthers(t *testing.T) {
	t.Parallel()
	server, err := natsserver.Start(t.Context(), natsserver.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	bus, err := jetstream.Connect(t.Context(), server.URL(), jetstream.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bus.Close() })
	const failing = 100
	b := &poisonBus{Bus: bus, delivered: map[string]int{}}
	unreadablePipeline(t, b)
	apply(t, bus, alone)
	b.publishPoison(t, failing)
	var earlier []events.EventDelivery // an earlier dispatcher had them, and lost its bus
	for range failing {
		delivery, err := bus.Follow(t.Context(), dispatch.Reader, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		earlier = append(earlier, delivery)
	}
	for _, delivery := range earlier {
		if err := delivery.Nak(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	}
	for i := range otherEvents {
		publish(t, bus, fmt.Sprint("run", i), "t", transform())
	}
	stop := b.dispatches(t)
	defer stop()
	until(t, "the other events are dispatched", func() bool { return dispatchedRuns(t, bus, "penguin") == otherEvents })
	if got := b.deliveries(poisonName); got < failing {
		t.Errorf("failing events were delivered %d times, want each once at least", got)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, delay := range b.delays {
		if delay < time.Second { // this is at least their second delivery
			t.Errorf("an event that has failed before was handed back for %v", delay)
		}
	}
}
