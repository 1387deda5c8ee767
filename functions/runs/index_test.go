package runs_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runs"
)

const (
	penguin = "pipeline: penguin\nmodule: ./mine\ntrainer: {wait_for: [transform], hyperparameters: none}\n"
	digest  = "sha256:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
)

// world is a bus of several servers with a dispatcher, a worker and an operator, whose own reads
// are not old.
type world struct {
	*testing.T
	memory     *bustest.Memory
	stale      *bustest.Stale
	dispatcher *dispatch.Dispatcher
	random     *rand.Rand
	run        int
}

func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	w := &world{T: t, memory: bustest.NewMemory(0), random: rand.New(rand.NewPCG(seed, 1))}
	w.stale = bustest.NewStale(w.memory)
	w.apply(penguin)
	var err error
	w.dispatcher, err = dispatch.New(t.Context(), w.memory, nil)
	w.must(err)
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) apply(text string) {
	w.Helper()
	spec, err := pipeline.Parse("p.yaml", []byte(text))
	w.must(err)
	_, _, err = dispatch.Apply(w.Context(), w.memory, spec)
	w.must(err)
}

func (w *world) publish(event events.Event) {
	w.Helper()
	_, err := w.memory.Publish(w.Context(), event)
	w.must(err)
	for err == nil {
		err = w.dispatcher.Next(w.Context(), 0)
	}
	if !errors.Is(err, events.ErrEmpty) {
		w.Fatal(err)
	}
}

func ready(run string) events.Event {
	return events.Event{ID: "t", Source: "/up", Pipeline: "penguin", Run: run, Data: &events.TransformReady{TransformGraph: "s3://bkt/graph"}}
}

func trained(run string) events.Event {
	return events.NewModelTrained(events.Job{Function: events.FunctionTrain, Pipeline: "penguin", Run: run}, &events.ModelTrained{
		Model:     events.Model{URI: "s3://bkt/model/" + run, Digest: digest, Formats: []string{"Format-Serving"}},
		Execution: digest, Inputs: []events.Artifact{}, Module: "m",
	})
}

// step changes the state of a run, or applies another revision of the pipeline.
func (w *world) step() {
	w.Helper()
	switch w.random.IntN(5) {
	case 0, 1:
		w.run++
		w.publish(ready(fmt.Sprint("run-", w.run)))
	case 2:
		if claim, err := w.memory.Claim(w.Context(), events.FunctionTrain, []string{"cpu"}, 0); err == nil && w.random.IntN(2) == 0 {
			job, err := claim.Job()
			w.must(err)
			w.publish(trained(job.Run))
			w.must(claim.Ack(w.Context()))
		}
	case 3:
		w.apply(strings.Replace(penguin, "none", fmt.Sprint("none, seed: ", w.random.IntN(3)), 1))
	case 4:
		if w.run > 0 {
			_, _ = dispatch.Cancel(w.Context(), w.memory, "penguin", fmt.Sprint("run-", 1+w.random.IntN(w.run)))
		}
	}
}

// truth returns the states according to reads that are all linearizable.
func (w *world) truth() map[string]string {
	w.Helper()
	list, err := runs.List(w.Context(), w.memory, "")
	w.must(err)
	return said(slices.Values(list))
}

func said(states iter.Seq[runs.Summary]) map[string]string {
	all := map[string]string{}
	for state := range states {
		all[state.Run] = state.Headline() + ": " + state.What()
	}
	return all
}

// wrong returns how many of the reads of a run at the leader differ from the truth.
func wrong(t *testing.T, staleness bustest.Staleness) (n int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		client := w.stale.Client(rand.New(rand.NewPCG(2, 2)), staleness)
		for i := range 90 {
			if w.step(); i%3 > 0 {
				continue
			}
			truth := w.truth()
			for _, run := range slices.Sorted(maps.Keys(truth)) {
				want := truth[run]
				got, err := runs.Load(t.Context(), client, runs.Key{Pipeline: "penguin", Run: run})
				if err != nil || got.Headline()+": "+got.What() != want {
					n++
				}
			}
		}
	})
	return n
}

func TestALoadedRunIsAsTheLeadersHaveIt(t *testing.T) {
	t.Parallel()
	if n := wrong(t, bustest.OnlyByContract); n > 0 {
		t.Errorf("%d reads are old or fail", n)
	}
	for name, staleness := range map[string]bustest.Staleness{"buckets": bustest.OldGets, "log": bustest.OldReads, "revisions": bustest.OldRevisions} {
		if n := wrong(t, staleness); n < 5 {
			t.Errorf("only %d old reads of the %s are noticed: the test is too weak", n, name)
		}
	}
}

func TestAWatchConverges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 3)
		for range 50 {
			w.step() // before the watch begins
		}
		following, stop := context.WithCancel(t.Context())
		watch := runs.NewWatch(w.stale.Client(rand.New(rand.NewPCG(4, 4)), bustest.OnlyByContract), 1000)
		ended := make(chan error)
		go func() { ended <- watch.Follow(following, runs.Handler{}) }()
		for range 10 {
			for range 10 {
				w.step()
			}
			changed := watch.Changed()
			w.publish(ready(fmt.Sprint("last-", w.run)))
			w.run++
			<-changed
			var now map[string]string
			want := w.truth()
			for tries := 0; fmt.Sprint(now) != fmt.Sprint(want); tries++ {
				if tries == 60 {
					t.Fatalf("the watch has\n%v, and the bus\n%v", now, want)
				}
				time.Sleep(time.Second)
				watch.View(func(x *runs.Index) { now = said(x.States()) })
			}
		}
		if away, reading := watch.Status(); away != "" || reading {
			t.Errorf("away %q, reading %t", away, reading)
		}
		stop()
		w.must(<-ended)
	})
}

// breaking is a bus whose watches end with an error while it is broken.
type breaking struct {
	*bustest.Memory
	mu     sync.Mutex
	broken context.Context
}

func (b *breaking) KV(ctx context.Context, name string) (events.KV, error) {
	kv, err := b.Memory.KV(ctx, name)
	return breakingKV{kv, b}, err
}

type breakingKV struct {
	events.KV
	of *breaking
}

// Watch yields no deletions: the bucket keeps no markers of them.
func (k breakingKV) Watch(ctx context.Context) iter.Seq2[events.Copy, error] {
	return func(yield func(events.Copy, error) bool) {
		k.of.mu.Lock()
		broken := k.of.broken
		k.of.mu.Unlock()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(broken, cancel)()
		for entry, err := range k.KV.Watch(ctx) {
			if !entry.Deleted && !yield(entry, err) {
				return
			}
		}
		if broken.Err() != nil {
			yield(events.Copy{}, events.ErrUnavailable)
		}
	}
}

// An entry that is deleted while the bus is away is gone afterwards, without a marker of the
// deletion.
func TestAWatchDropsWhatWasDeletedWhileItsBusWasAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 5)
		broken, breaks := context.WithCancel(t.Context())
		bus := &breaking{Memory: w.memory, broken: broken}
		following, stop := context.WithCancel(t.Context())
		watch := runs.NewWatch(bus, 10)
		ended := make(chan error)
		go func() { ended <- watch.Follow(following, runs.Handler{}) }()
		applied := func() (is bool) {
			watch.View(func(x *runs.Index) { _, is = x.Pipeline("penguin") })
			return is
		}
		synctest.Wait()
		if !applied() {
			t.Fatal("the pipeline is not known")
		}
		breaks()
		synctest.Wait()
		if away, _ := watch.Status(); away == "" || !applied() {
			t.Errorf("away %q; the pipeline is known: %t", away, applied())
		}
		_, _, err := dispatch.Remove(t.Context(), w.memory, "penguin", false)
		w.must(err)
		bus.mu.Lock()
		bus.broken = t.Context()
		bus.mu.Unlock()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if away, _ := watch.Status(); away != "" || applied() {
			t.Errorf("away %q; the pipeline is known: %t", away, applied())
		}
		stop()
		w.must(<-ended)
	})
}

func TestTheOrderOfApplyingDoesNotMatter(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 6)
	for range 80 {
		w.step()
	}
	type entry struct {
		bucket string
		events.Copy
	}
	var entries []entry
	for _, name := range runs.Buckets() {
		kv, err := w.memory.KV(t.Context(), name)
		w.must(err)
		for c, err := range kv.All(t.Context()) {
			w.must(err)
			entries = append(entries, entry{name, c})
			// Older values may be delivered again.
			for old, err := range kv.History(t.Context(), c.Key) {
				w.must(err)
				entries = append(entries, entry{name, old})
			}
		}
	}
	var log []events.Recorded
	for recorded, err := range w.memory.Read(t.Context(), events.Query{}) {
		w.must(err)
		log = append(log, recorded)
	}
	want := fmt.Sprint(w.truth())
	for range 20 {
		w.random.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
		x := runs.NewIndex(runs.Options{})
		rest := log
		for _, e := range entries {
			if n := w.random.IntN(3); n <= len(rest) {
				for _, recorded := range rest[:n] {
					x.ApplyEvent(recorded)
					x.ApplyEvent(recorded)
				}
				rest = rest[n:]
			}
			x.Apply(e.bucket, e.Copy)
		}
		for _, recorded := range rest {
			x.ApplyEvent(recorded)
		}
		for _, name := range runs.Buckets() {
			x.End(name)
		}
		if got := fmt.Sprint(said(x.States())); got != want {
			t.Fatalf("got\n%s, want\n%s", got, want)
		}
	}
}

func TestOneBadJoinHidesNoOtherRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 7)
	joins, err := w.memory.KV(t.Context(), events.KVJoins)
	w.must(err)
	for key, value := range map[string]string{
		"penguin/torn": `{`,
		"penguin/orphaned": `{"pipeline": "penguin", "run": "orphaned", "state": "dispatched", "events": [{"sequence": 1}],
			"stages": [{"function": "train", "through": 1, "revision": 99, "job": "j1"}]}`,
		"penguin/waiting": `{"pipeline": "penguin", "run": "waiting", "state": "waiting"}`,
		"other/far":       `{`,
	} {
		_, err := joins.Create(t.Context(), key, []byte(value))
		w.must(err)
	}
	all, err := runs.List(t.Context(), w.memory, "penguin")
	w.must(err)
	states := map[string]string{}
	for _, run := range all {
		states[run.Run] = run.State
		if run.State == runs.Unclear && run.What() == "" {
			t.Errorf("run %s is unclear, without a reason", run.Run)
		}
	}
	if len(states) != 3 || states["torn"] != runs.Unclear || states["orphaned"] != runs.Unclear || states["waiting"] != runs.Waiting {
		t.Errorf("states %v", states)
	}
}

func TestARunContinuesAfterOneOfItsEventsWasRefused(t *testing.T) {
	t.Parallel()
	x := runs.NewIndex(runs.Options{Timelines: true})
	bad := events.Event{ID: "x", Source: "/up", Pipeline: "penguin", Run: "monday", Data: &events.HParamsReady{Hyperparameters: "s3://bkt/h"}}
	refused := events.NewEventRefused(events.Recorded{Event: bad}, &events.Failure{Kind: events.FailureInput, Err: errors.New("refused")})
	for i, event := range []events.Event{refused, trained("monday"), refused} {
		for range 2 { // the second time it is ignored
			x.ApplyEvent(events.Recorded{Event: event, Message: events.Message{Sequence: uint64(i) + 1}})
		}
	}
	x.End(events.KVJoins)
	if run, known := x.Run(runs.Key{Pipeline: "penguin", Run: "monday"}); !known || run.State != runs.Trained || len(run.Timeline.Events) != 3 {
		t.Errorf("%+v with %d events", run.Summary, len(run.Timeline.Events))
	}
}

func TestTheNumberOfRunsIsBounded(t *testing.T) {
	t.Parallel()
	x := runs.NewIndex(runs.Options{MaxRuns: 20})
	for _, name := range runs.Buckets() {
		x.End(name)
	}
	at := func(i int, event events.Event) {
		x.ApplyEvent(events.Recorded{Event: event, Message: events.Message{Sequence: uint64(i) + 1, Stored: time.Unix(int64(i), 0)}})
	}
	at(0, ready("under-way"))
	for i := range 100 {
		at(i+1, trained(fmt.Sprint("run-", i)))
	}
	if x.Len() > 21 || x.Len()+x.Dropped() != 101 {
		t.Errorf("%d runs are kept, %d are dropped", x.Len(), x.Dropped())
	}
	for _, run := range []string{"under-way", "run-99"} {
		if _, known := x.Run(runs.Key{Pipeline: "penguin", Run: run}); !known {
			t.Errorf("%s is dropped", run)
		}
	}
}

// Pages are built concurrently, and may need the same entry: there must be no data race.
func TestAnIndexIsReadByManyAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 8)
	for range 50 {
		w.step()
	}
	x := runs.NewIndex(runs.Options{})
	joins, err := w.memory.KV(t.Context(), events.KVJoins)
	w.must(err)
	for entry, err := range joins.All(t.Context()) {
		w.must(err)
		x.Apply(events.KVJoins, entry)
	}
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for state := range x.States() {
				if state.State == "" {
					t.Errorf("%+v", state)
				}
			}
		})
	}
	readers.Wait()
}
