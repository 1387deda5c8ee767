package gc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/admin/gc"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/storage"
)

// enqueue enqueues a job that no worker works on.
func (w world) enqueue(id string, function events.Function) events.Job {
	w.t.Helper()
	job := events.Job{
		ID: id, Function: function, Class: "cpu", Pipeline: "penguin", Revision: 1, Spec: []byte("{}"), Run: id,
		Causes: []events.Cause{{Kind: events.KindTransformReady, Source: "/up", ID: id, Sequence: 1}},
	}
	if err := w.bus.Enqueue(w.t.Context(), job); err != nil {
		w.t.Fatal(err)
	}
	return job
}

// dequeue has a worker claim a job and acknowledge it.
func (w world) dequeue(function events.Function) {
	w.t.Helper()
	claim, err := w.bus.Claim(w.t.Context(), function, []string{"cpu"}, time.Minute)
	if err == nil {
		err = claim.Ack(w.t.Context())
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// checkpointFor saves a checkpoint, in the folder of a component, for a job.
func (w world) checkpointFor(component storage.Ref, n int, job string) {
	w.t.Helper()
	place := storage.Place{Root: component, Execution: execution(n), Attempt: "preempted"}
	if _, err := storage.OpenCheckpoints(w.store, place, job, 1).Save(w.t.Context(), w.model, 1); err != nil {
		w.t.Fatal(err)
	}
}

// A preempted job waits for machines for longer than gc's minimum age.
func TestTheCheckpointOfAJobOnTheQueueStays(t *testing.T) {
	for name, savedFor := range map[string]string{
		"of the job":                       "j1",
		"of the job that was asked for by": "j1 dead:7",
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w world) {
				w.checkpointFor(trainer, 1, savedFor)
				w.attempt(1, "preempted")
				w.enqueue("j1", events.FunctionTrain)
				time.Sleep(2 * day)
				before := w.objects()
				if got := w.collect(gc.Options{OlderThan: day}); len(got) > 0 || len(w.objects()) != len(before) {
					t.Errorf("removed %q of a job that is on the queue", got)
				}
				w.dequeue(events.FunctionTrain)
				if got := w.collect(gc.Options{OlderThan: day}); !slices.Equal(got, []string{"attempt preempted", "checkpoints"}) {
					t.Errorf("removed %q once the job had left the queue", got)
				}
			})
		})
	}
}

// Another run's job has made the model of the same execution: the job on the queue will find it.
func TestTheCheckpointsOfACommittedExecutionAreRemovedDespiteAQueuedJob(t *testing.T) {
	inBubble(t, func(t *testing.T, w world) {
		w.commit(1, "won")
		w.checkpointFor(trainer, 1, "j1")
		w.enqueue("j1", events.FunctionTrain)
		time.Sleep(2 * day)
		if got := w.collect(gc.Options{OlderThan: day}); !slices.Equal(got, []string{"checkpoints"}) {
			t.Errorf("removed %q", got)
		}
	})
}

// joinOf returns the join of run "r1", dispatched with job "j1".
func joinOf(change func(*join.Join)) []byte {
	cause := events.Cause{Kind: events.KindTransformReady, Source: "/up", ID: "r1", Sequence: 1}
	j := join.Join{
		Pipeline: "penguin", Run: "r1", State: join.Dispatched, Events: []join.Event{{Cause: cause}},
		Stages: []join.Stage{{Function: events.FunctionTrain, Through: 1, Revision: 1, Job: "j1"}},
	}
	if change != nil {
		change(&j)
	}
	value, err := json.Marshal(j)
	if err != nil {
		panic(err) // its type can be encoded
	}
	return value
}

func (w world) join(bus events.Bus, value []byte) {
	w.t.Helper()
	joins, err := bus.KV(w.t.Context(), events.KVJoins)
	if err != nil {
		w.t.Fatal(err)
	}
	entry, err := joins.Get(w.t.Context(), "penguin/r1")
	if errors.Is(err, events.ErrNotFound) {
		_, err = joins.Create(w.t.Context(), "penguin/r1", value)
	} else if err == nil {
		_, err = joins.Update(w.t.Context(), "penguin/r1", value, entry.Revision)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// failed publishes that the run's training failed.
func (w world) failed(change func(*events.Event)) {
	w.t.Helper()
	event := events.Event{
		ID: "failed", Source: events.Source(events.FunctionTrain), Pipeline: "penguin", Run: "r1",
		Data: &events.TrainingFailed{Failed: events.Failed{Reason: events.FailureModule, Message: "it failed", Attempt: 1}},
	}
	if change != nil {
		change(&event)
	}
	if _, err := w.bus.Publish(w.t.Context(), event); err != nil {
		w.t.Fatal(err)
	}
}

// The queue has lost the run's job, and no dispatcher has noticed yet.
func TestTheCheckpointOfARunWithoutAnOutcomeStays(t *testing.T) {
	noted := joinOf(func(j *join.Join) { j.Stages[0].Outcome = 9 })
	ended := joinOf(func(j *join.Join) {
		j.State, j.Stages[0].Job, j.Ending = join.Ended, "", &join.Ending{Kind: events.FailureCancelled}
	})
	for name, c := range map[string]struct {
		then  func(w world)
		stays bool
	}{
		"nothing has come of it":      {func(world) {}, true},
		"another run failed":          {func(w world) { w.failed(func(f *events.Event) { f.Run = "r2" }) }, true},
		"one event was refused":       {func(w world) { w.failed(func(f *events.Event) { f.Source = "/stoker/dispatch" }) }, true},
		"it failed":                   {func(w world) { w.failed(nil) }, false},
		"its outcome is noted":        {func(w world) { w.join(w.bus, noted) }, false},
		"it has ended":                {func(w world) { w.join(w.bus, ended) }, false},
		"it failed and is dispatched": {func(w world) { w.failed(nil); w.join(w.bus, joinOf(func(j *join.Join) { j.Stages[0].After = 99 })) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w world) {
				// The sequence of the event that completed the run.
				w.announce("earlier", w.commit(9, "a"), storage.Place{})
				w.checkpointFor(trainer, 1, "j1")
				w.join(w.bus, joinOf(nil))
				c.then(w)
				time.Sleep(2 * day)
				if got := w.collect(gc.Options{OlderThan: day}); c.stays != (len(got) == 0) {
					t.Errorf("removed %q, stays: %v", got, c.stays)
				}
			})
		})
	}
}

// A run waits for its search, whose job the queue has lost. No job names the states of trials.
func TestTheStateOfTheTrialsOfAWaitingRunStays(t *testing.T) {
	inBubble(t, func(t *testing.T, w world) {
		search := join.Stage{Function: events.FunctionTune, Through: 1, Revision: 1, Job: "t1"}
		w.checkpointFor(root.Join("penguin", "Tuner"), 1, "trial 0000")
		w.join(w.bus, joinOf(func(j *join.Join) {
			j.State, j.Stages = join.Waiting, []join.Stage{search}
		}))
		time.Sleep(2 * day)
		if got := w.collect(gc.Options{OlderThan: day}); len(got) > 0 {
			t.Errorf("removed %q while the run waits for its search", got)
		}
		w.join(w.bus, joinOf(func(j *join.Join) { j.Stages = append([]join.Stage{search}, j.Stages...) }))
		if got := w.collect(gc.Options{OlderThan: day}); !slices.Equal(got, []string{"checkpoints"}) {
			t.Errorf("removed %q once the search had ended", got)
		}
	})
}

// lagging is a bus whose listings lack the newest change of each key.
type lagging struct {
	events.Bus
	old map[string]map[string][]byte // by bucket and key: what a listing returns instead
}

func (l lagging) KV(ctx context.Context, name string) (events.KV, error) {
	kv, err := l.Bus.KV(ctx, name)
	return laggingKV{kv, l.old[name]}, err
}

type laggingKV struct {
	events.KV
	old map[string][]byte
}

func (r laggingKV) All(ctx context.Context) iter.Seq2[events.Copy, error] {
	return func(yield func(events.Copy, error) bool) {
		for entry, err := range r.KV.All(ctx) {
			if old, is := r.old[entry.Key]; is && err == nil {
				entry.Value = old
			}
			if !yield(entry, err) {
				return
			}
		}
	}
}

func TestAnOldListingRemovesNothing(t *testing.T) {
	released, err := json.Marshal(events.Lease{Number: 1})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		make func(w world)
		old  map[string]map[string][]byte
	}{
		"of leases: it says that nobody works on the job": {
			func(w world) { w.attempt(1, "leased"); w.lease("leased") },
			map[string]map[string][]byte{events.KVLeases: {"job-of-leased": released}},
		},
		"of joins: it says that the run has an outcome": {
			func(w world) { w.checkpointFor(trainer, 1, "j1"); w.join(w.bus, joinOf(nil)) },
			map[string]map[string][]byte{events.KVJoins: {"penguin/r1": joinOf(func(j *join.Join) { j.Stages[0].Outcome = 9 })}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w world) {
				c.make(w)
				time.Sleep(2 * day)
				before := len(w.objects())
				err := gc.Collect(t.Context(), lagging{w.bus, c.old}, w.store, gc.Options{Root: root, OlderThan: day}, func(r gc.Removal) {
					t.Errorf("removed %s %s: %s", r.What, r.Attempt, r.Why)
				})
				if err != nil || len(w.objects()) != before {
					t.Errorf("%d objects of %d are left (%v)", len(w.objects()), before, err)
				}
			})
		})
	}
}

// The job returns to the queue after the bus was surveyed, right before its checkpoint would be
// removed.
func TestTheQueueIsCheckedRightBeforeACheckpointIsRemoved(t *testing.T) {
	inBubble(t, func(t *testing.T, w world) {
		w.checkpointFor(trainer, 1, "j1")
		time.Sleep(2 * day)
		bus := &hitting{Bus: w.bus, at: 1, announce: func() { w.enqueue("j1", events.FunctionTrain) }}
		err := gc.Collect(t.Context(), bus, w.store, gc.Options{Root: root, OlderThan: day}, func(r gc.Removal) {
			t.Errorf("removed %s %s: %s", r.What, r.Attempt, r.Why)
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// Listings lack leases and joins, or have older ones, as far as the contract of the bus allows.
func TestCollectOnABusWithOldListings(t *testing.T) {
	inBubble(t, func(t *testing.T, w world) {
		for seed := range uint64(50) {
			stale := bustest.NewStale(w.bus)
			writer := stale.Client(rand.New(rand.NewPCG(seed, 1)), bustest.OnlyByContract)
			job := fmt.Sprint("j", seed)
			w.checkpointFor(trainer, int(seed), job)
			w.enqueue(job, events.FunctionTrain)
			w.join(writer, joinOf(func(j *join.Join) { j.Stages[0].Job = job }))
			w.join(writer, joinOf(func(j *join.Join) { j.Stages[0].Job, j.Stages[0].Outcome = job, 9 }))
			time.Sleep(2 * day)
			reader := stale.Client(rand.New(rand.NewPCG(seed, 2)), bustest.OnlyByContract)
			err := gc.Collect(t.Context(), reader, w.store, gc.Options{Root: root, OlderThan: day}, func(r gc.Removal) {
				t.Errorf("seed %d: removed %s of %s: %s", seed, r.What, r.Execution, r.Why)
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}
