package gc_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/gc"
	"github.com/stoker-ml/stoker/storage"
)

const day = 24 * time.Hour

func TestLostAttemptsAreRemovedAndTheCommittedOneStays(t *testing.T) {
	inBubble(t, func(t *testing.T, w world) {
		w.commit(1, "won")
		kept := w.objects()
		w.attempt(1, "lost")
		w.attempt(2, "alone")
		time.Sleep(2 * day)
		if got := w.collect(gc.Options{OlderThan: day}); !slices.Equal(got, []string{"attempt lost", "attempt alone"}) {
			t.Errorf("removed %q", got)
		}
		if now := w.objects(); !maps.Equal(now, kept) || !w.valid(1) {
			t.Errorf("now %v, want %v", now, kept)
		}
	})
}

func TestYoungOrLeasedObjectsStay(t *testing.T) {
	inBubble(t, func(t *testing.T, w world) {
		w.attempt(1, "leased")
		w.checkpoint(1, "leased")
		w.lease("leased")
		time.Sleep(2 * day)
		w.attempt(2, "young")
		w.checkpoint(2, "young")
		time.Sleep(time.Hour)
		before := w.objects()
		if got := w.collect(gc.Options{OlderThan: day}); len(got) > 0 || !maps.Equal(w.objects(), before) {
			t.Errorf("removed %q", got)
		}
	})
}

func TestAnAttemptIsAsYoungAsItsNewestObject(t *testing.T) {
	inBubble(t, func(t *testing.T, w world) {
		place := w.attempt(1, "slow")
		time.Sleep(2 * day)
		w.put(place.Output("model").Join("variables"), "still being sent")
		if got := w.collect(gc.Options{OlderThan: day}); len(got) > 0 {
			t.Errorf("removed %q", got)
		}
	})
}

func TestCheckpointsAreRemovedAfterAModelOrALongTime(t *testing.T) {
	inBubble(t, func(t *testing.T, w world) {
		w.commit(1, "won")
		w.checkpoint(1, "won")
		w.checkpoint(2, "left")
		time.Sleep(2 * day)
		w.checkpoint(3, "first")
		time.Sleep(12 * time.Hour)
		w.checkpoint(3, "second") // an attempt resumes: the older checkpoints are not garbage yet
		time.Sleep(13 * time.Hour)
		if got := w.collect(gc.Options{OlderThan: day}); !slices.Equal(got, []string{"checkpoints", "checkpoints"}) {
			t.Errorf("removed %q", got)
		}
		for key := range w.objects() {
			if strings.Contains(key, "checkpoint") && !strings.Contains(key, fmt.Sprintf("%064x", 3)) {
				t.Errorf("left %s", key)
			}
		}
	})
}

func TestACancelledExecutionKeepsItsCommitAlone(t *testing.T) {
	inBubble(t, func(t *testing.T, w world) {
		place := w.attempt(1, "stopped")
		c := storage.Commit{Execution: place.Execution, Attempt: "stopped", Cancelled: true}
		if _, _, err := storage.PutCommit(t.Context(), w.store, trainer, c); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * day)
		if got := w.collect(gc.Options{OlderThan: day}); !slices.Equal(got, []string{"attempt stopped"}) {
			t.Errorf("removed %q", got)
		}
		if now := w.objects(); len(now) != 1 || !w.valid(1) {
			t.Errorf("left %v", now)
		}
	})
}

func TestObjectsOfOthersStay(t *testing.T) {
	inBubble(t, func(t *testing.T, w world) {
		hex := fmt.Sprintf("%064x", 7)
		for _, key := range []string{
			"penguin-data/Split-train/data.gz",
			// Looks like an output, but of no execution here.
			"copies/model/" + hex + "/a1/saved_model.pb",
			"penguin/Trainer/.system/executor_execution/7/executor.log", // TFX's own
			"penguin/Trainer/.system/" + hex + "/notes.txt",
			"penguin/Trainer/readme.txt",
		} {
			w.put(root.Join(key), "not ours")
		}
		w.put(storage.Ref{Bucket: root.Bucket, Key: "other/x/.system/" + hex + "/a1/log.txt"}, "another root")
		before := w.objects()
		time.Sleep(100 * day)
		if got := w.collect(gc.Options{KeepModels: 1}); len(got) > 0 || !maps.Equal(w.objects(), before) {
			t.Errorf("removed %q", got)
		}
	})
}

func TestRetentionKeepsTheNewestModelsAndWhatTheyStartedFrom(t *testing.T) {
	inBubble(t, func(t *testing.T, w world) {
		var none storage.Place
		one, two, three, four, five := w.commit(1, "a"), w.commit(2, "b"), w.commit(3, "c"), w.commit(4, "d"), w.commit(5, "e")
		w.commit(6, "unannounced")
		w.announce("r1", one, none)
		w.announce("r2", two, none)
		w.announce("r3", three, none)
		w.announce("r4", four, none)
		w.announce("r5", five, two)
		w.announce("r6", three, none) // announced again: as new as the new event
		time.Sleep(2 * day)
		opts := gc.Options{OlderThan: day, KeepModels: 2, Keep: keeping(four.Output("model"))}
		if got := w.collect(opts); !slices.Equal(got, []string{"model a"}) {
			t.Errorf("removed %q", got)
		}
		opts.Keep = nil
		if got := w.collect(opts); !slices.Equal(got, []string{"model d"}) {
			t.Errorf("then %q", got)
		}
		for n, want := range map[int]bool{1: false, 2: true, 3: true, 4: false, 5: true, 6: true} {
			if w.valid(n) != want {
				t.Errorf("execution %d: valid %v, want %v", n, !want, want)
			}
		}
		if c, err := storage.CommitOf(t.Context(), w.store, trainer, execution(1)); err != nil || c.Attempt != "a" {
			t.Errorf("the commit is no longer known: %+v, %v", c, err)
		}
	})
}

func keeping(models ...storage.Ref) func(context.Context) ([]storage.Ref, error) {
	return func(context.Context) ([]storage.Ref, error) { return models, nil }
}

// hitting announces a model while it is about to be removed, as a run does that finds its execution
// done.
type hitting struct {
	events.Bus
	reads    int
	at       int // number of the read at which it does
	announce func()
}

func (h *hitting) Read(ctx context.Context, q events.Query) iter.Seq2[events.Recorded, error] {
	if h.reads++; h.reads == h.at {
		h.announce()
	}
	return h.Bus.Read(ctx, q)
}

func TestAModelThatARunHasJustGotStays(t *testing.T) {
	inBubble(t, func(t *testing.T, w world) {
		var none storage.Place
		one, two := w.commit(1, "a"), w.commit(2, "b")
		w.announce("r1", one, none)
		w.announce("r2", two, none)
		time.Sleep(2 * day)
		bus := &hitting{Bus: w.bus, announce: func() { w.announce("r3", one, none) }, at: 2}
		opts := gc.Options{Root: root, OlderThan: day, KeepModels: 1}
		if err := gc.Collect(t.Context(), bus, w.store, opts, func(gc.Removal) {}); err != nil {
			t.Fatal(err)
		}
		if !w.valid(1) {
			t.Error("the model of the newest event is gone")
		}
	})
}

// A worker was killed after it had taken its job off the queue, and before it removed the lease.
func TestALeaseWhoseJobIsGoneExpires(t *testing.T) {
	inBubble(t, func(t *testing.T, w world) {
		w.commit(1, "won")
		w.checkpoint(1, "won")
		w.leaseAlone("won")
		time.Sleep(2 * day)
		if got := w.collect(gc.Options{OlderThan: day}); len(got) > 0 {
			t.Errorf("removed %q, while the bus's clock may be two days behind", got)
		}
		w.announce("r2", w.commit(2, "b"), storage.Place{}) // shows the time of the bus
		if got := w.collect(gc.Options{OlderThan: day}); !slices.Equal(got, []string{"checkpoints"}) {
			t.Errorf("removed %q", got)
		}
	})
}

func TestADryRunRemovesNothingAndReportsTheSame(t *testing.T) {
	inBubble(t, func(t *testing.T, w world) {
		w.commit(1, "won")
		w.checkpoint(1, "won")
		w.attempt(1, "lost")
		time.Sleep(2 * day)
		before := w.objects()
		said := w.collect(gc.Options{OlderThan: day, DryRun: true})
		if !maps.Equal(w.objects(), before) {
			t.Error("a dry run changed the store")
		}
		if done := w.collect(gc.Options{OlderThan: day}); len(said) != 2 || !slices.Equal(said, done) {
			t.Errorf("said %q, did %q", said, done)
		}
	})
}

func TestACommitThatCanNotBeReadKeepsNoOtherFromBeingCollected(t *testing.T) {
	inBubble(t, func(t *testing.T, w world) {
		broken := w.attempt(1, "unknown")
		w.put(broken.Commit(), "no commit")
		w.attempt(2, "alone")
		time.Sleep(2 * day)
		var removed []string
		err := gc.Collect(t.Context(), w.bus, w.store, gc.Options{Root: root, OlderThan: day}, func(r gc.Removal) { removed = append(removed, r.Attempt) })
		if !errors.Is(err, storage.ErrIncomplete) || !slices.Equal(removed, []string{"alone"}) {
			t.Errorf("removed %q, %v", removed, err)
		}
	})
}
