package dispatch_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

const both = "pipeline: penguin\nmodule: builtin:dnn\ntrainer: {wait_for: [transform, hparams], hyperparameters: run}\n"

func TestAPipelineWithActiveRunsIsNotRemoved(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, alone)
	arrive(t, bus, d, "queued", "trained")
	all := wantJobs(t, bus, "at first", "queued", "trained")
	finish(t, bus, d, all[1])
	apply(t, bus, both)
	publish(t, bus, "waits", "t", transform())
	publish(t, bus, "cancelled", "t", transform())
	drain(t, d)
	if _, err := dispatch.Cancel(t.Context(), bus, "penguin", "cancelled"); err != nil {
		t.Fatal(err)
	}
	apply(t, bus, strings.Replace(both, "penguin", "penguin-2", 1))
	other := events.Event{ID: "o", Source: "/up", Pipeline: "penguin-2", Run: "its own", Data: transform()}
	if _, err := bus.Publish(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	drain(t, d)
	if err := dispatch.Pause(t.Context(), bus, "penguin"); err != nil {
		t.Fatal(err)
	}

	_, _, err := dispatch.Remove(t.Context(), bus, "penguin", false)
	active, ok := errors.AsType[*dispatch.ActiveRuns](err)
	if !ok || !slices.Equal(active.Runs, []string{"queued", "waits"}) {
		t.Fatalf("%+v, %v", active, err)
	}
	if _, err := dispatch.Spec(t.Context(), bus, "penguin"); err != nil {
		t.Errorf("it is gone all the same: %v", err)
	}

	removed, cancelled, err := dispatch.Remove(t.Context(), bus, "penguin", true)
	if err != nil || removed != 2 || !slices.Equal(cancelled, []string{"queued", "waits"}) {
		t.Fatalf("revision %d, cancelled %v, %v", removed, cancelled, err)
	}
	if _, err := dispatch.Spec(t.Context(), bus, "penguin"); !errors.Is(err, events.ErrNotFound) {
		t.Errorf("it is applied still: %v", err)
	}
	if j := joinOf(t, bus, "waits"); j.State != join.Ended || j.Ending.Kind != events.FailureCancelled {
		t.Errorf("the run that waited is %+v", j)
	}
	if failed := failures(t, bus, "waits"); len(failed) != 1 {
		t.Errorf("its end is announced %d times", len(failed))
	}
	if _, _, err := dispatch.Remove(t.Context(), bus, "penguin", false); !errors.Is(err, events.ErrNotFound) {
		t.Errorf("removed twice: %v", err)
	}
	if j, err := dispatch.ReadJoin(t.Context(), bus, "penguin-2", "its own"); err != nil || j.State != join.Waiting {
		t.Errorf("a run of another pipeline is %+v, %v", j, err)
	}
	gates, err := bus.KV(t.Context(), events.KVGates)
	if err != nil {
		t.Fatal(err)
	}
	if entry, err := gates.Get(t.Context(), "penguin"); !errors.Is(err, events.ErrNotFound) {
		t.Errorf("its gate is there still: %s, %v", entry.Value, err)
	}
	revisions, err := dispatch.Revisions(t.Context(), bus, "penguin")
	for _, r := range revisions {
		if r.Applied.IsZero() || r.Err != nil {
			t.Errorf("%+v", r)
		}
	}
	if err != nil || len(revisions) != 3 || !revisions[2].Removed || revisions[1].Removed || revisions[0].Spec.Name != "penguin" {
		t.Errorf("%+v, %v", revisions, err)
	}
	if _, err := dispatch.Revisions(t.Context(), bus, "nobody"); !errors.Is(err, events.ErrNotFound) {
		t.Errorf("a pipeline that never was: %v", err)
	}

	publish(t, bus, "late", "t", transform())
	drain(t, d)
	if failed := failures(t, bus, "late"); len(failed) != 1 || !strings.Contains(failed[0].Data.(*events.TrainingFailed).Message, "applied pipeline") {
		t.Errorf("an event of a pipeline that was removed: %+v", failed)
	}
}

// A run may begin while its pipeline is removed. A sweep or the operator ends it; a run that has a
// job continues.
func TestARunThatBeganWhileItsPipelineWasRemovedEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bus, d := setup(t, alone)
		arrive(t, bus, d, "queued")
		first := wantJobs(t, bus, "at first", "queued")
		apply(t, bus, both)
		publish(t, bus, "swept", "t", transform())
		publish(t, bus, "by hand", "t", transform())
		drain(t, d)
		pipelines, err := bus.KV(t.Context(), events.KVPipelines)
		if err != nil {
			t.Fatal(err)
		}
		// As Remove does if it doesn't see the runs.
		if err := pipelines.Delete(t.Context(), "penguin", 2); err != nil {
			t.Fatal(err)
		}
		if got, err := dispatch.Cancel(t.Context(), bus, "penguin", "by hand"); err != nil || got.Job != "" {
			t.Errorf("cancelled by hand: %+v, %v", got, err)
		}
		sweep(t, d)
		for _, run := range []string{"swept", "by hand"} {
			if j := joinOf(t, bus, run); j.State != join.Ended || j.Ending.Kind != events.FailureCancelled {
				t.Errorf("%s: %+v", run, j)
			}
		}
		if j := joinOf(t, bus, "swept"); !strings.Contains(j.Ending.Message, "its pipeline was removed") {
			t.Errorf("ended because %s", j.Ending.Message)
		}
		time.Sleep(missed)
		sweep(t, d)
		if again := wantJobs(t, bus, "enqueued again", "queued"); again[0].ID != first[0].ID {
			t.Errorf("job %s became %s", first[0].ID, again[0].ID)
		}
	})
}

// If the bus has lost its pipelines, none was removed: their runs wait until they are applied
// again.
func TestARunOfAPipelineThatTheBusHasLostWaits(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, both)
	joins, err := bus.KV(t.Context(), events.KVJoins)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := joins.Create(t.Context(), "lost/monday", []byte(`{"pipeline": "lost", "run": "monday", "state": "waiting", "events": []}`)); err != nil {
		t.Fatal(err)
	}
	_ = d.Sweep(t.Context())
	entry, err := joins.Get(t.Context(), "lost/monday")
	if err != nil || !strings.Contains(string(entry.Value), `"waiting"`) {
		t.Errorf("%s, %v", entry.Value, err)
	}
}

// A newer Stoker may apply a pipeline that the running dispatchers can't read: events and outcomes
// wait for dispatchers that can.
func TestAPipelineThatCanNotBeReadMakesItsEventsWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bus, d := setup(t, fmt.Sprintf(limited, "1"))
		arrive(t, bus, d, "a")
		first := wantJobs(t, bus, "at first", "a")[0]
		pipelines, err := bus.KV(t.Context(), events.KVPipelines)
		if err != nil {
			t.Fatal(err)
		}
		readable, err := pipelines.Get(t.Context(), "penguin")
		if err != nil {
			t.Fatal(err)
		}
		newer, err := pipelines.Update(t.Context(), "penguin", []byte(`{"pipeline":"penguin","of_tomorrow":1}`), readable.Revision)
		if err != nil {
			t.Fatal(err)
		}
		publish(t, bus, "b", "t", transform())
		if _, err := bus.Publish(t.Context(), outcomeOf(first)); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := d.Next(t.Context(), 0); err == nil {
				t.Error("handled by a pipeline that can't be read")
			}
		}
		if _, err := pipelines.Update(t.Context(), "penguin", readable.Value, newer); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		drain(t, d)
		wantJobs(t, bus, "then", "b")
		for deadLetter := range bus.DeadLetters(t.Context()) {
			t.Errorf("dead-lettered %s", deadLetter.Message.Subject)
		}
		if published := failures(t, bus, "a"); len(published) != 0 {
			t.Errorf("a has a model, and failed with %+v", published)
		}
	})
}

func TestAnOutcomeOfARemovedPipelineIsNotRefused(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, fmt.Sprintf(limited, "1"))
	arrive(t, bus, d, "a")
	first := wantJobs(t, bus, "at first", "a")[0]
	pipelines, err := bus.KV(t.Context(), events.KVPipelines)
	if err != nil {
		t.Fatal(err)
	}
	entry, err := pipelines.Get(t.Context(), "penguin")
	if err != nil {
		t.Fatal(err)
	}
	if err := pipelines.Delete(t.Context(), "penguin", entry.Revision); err != nil {
		t.Fatal(err)
	}
	finish(t, bus, d, first)
	if published := failures(t, bus, "a"); len(published) != 0 {
		t.Errorf("a has a model, and failed with %+v", published)
	}
}
