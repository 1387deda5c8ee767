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
	box, d := setup(t, alone)
	arrive(t, box, d, "queued", "trained")
	all := wantJobs(t, box, "at first", "queued", "trained")
	finish(t, box, d, all[1])
	apply(t, box, both)
	publish(t, box, "waits", "t", transform())
	publish(t, box, "cancelled", "t", transform())
	drain(t, d)
	if _, err := dispatch.Cancel(t.Context(), box, "penguin", "cancelled"); err != nil {
		t.Fatal(err)
	}
	apply(t, box, strings.Replace(both, "penguin", "penguin-2", 1))
	other := events.Fact{ID: "o", Source: "/up", Pipeline: "penguin-2", Run: "its own", Data: transform()}
	if _, err := box.Publish(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	drain(t, d)
	if err := dispatch.Pause(t.Context(), box, "penguin"); err != nil {
		t.Fatal(err)
	}

	_, _, err := dispatch.Remove(t.Context(), box, "penguin", false)
	active, ok := errors.AsType[*dispatch.ActiveRuns](err)
	if !ok || !slices.Equal(active.Runs, []string{"queued", "waits"}) {
		t.Fatalf("%+v, %v", active, err)
	}
	if _, err := dispatch.Spec(t.Context(), box, "penguin"); err != nil {
		t.Errorf("it is gone all the same: %v", err)
	}

	removed, cancelled, err := dispatch.Remove(t.Context(), box, "penguin", true)
	if err != nil || removed != 2 || !slices.Equal(cancelled, []string{"queued", "waits"}) {
		t.Fatalf("revision %d, cancelled %v, %v", removed, cancelled, err)
	}
	if _, err := dispatch.Spec(t.Context(), box, "penguin"); !errors.Is(err, events.ErrNotFound) {
		t.Errorf("it is applied still: %v", err)
	}
	if j := joinOf(t, box, "waits"); j.State != join.Ended || j.Ending.Kind != events.FailureCancelled {
		t.Errorf("the run that waited is %+v", j)
	}
	if failed := failures(t, box, "waits"); len(failed) != 1 {
		t.Errorf("its end is announced %d times", len(failed))
	}
	if _, _, err := dispatch.Remove(t.Context(), box, "penguin", false); !errors.Is(err, events.ErrNotFound) {
		t.Errorf("removed twice: %v", err)
	}
	if j, err := dispatch.ReadJoin(t.Context(), box, "penguin-2", "its own"); err != nil || j.State != join.Waiting {
		t.Errorf("a run of another pipeline is %+v, %v", j, err)
	}
	gates, err := box.Register(t.Context(), events.RegisterGates)
	if err != nil {
		t.Fatal(err)
	}
	if entry, err := gates.Get(t.Context(), "penguin"); !errors.Is(err, events.ErrNotFound) {
		t.Errorf("its gate is there still: %s, %v", entry.Value, err)
	}
	revisions, err := dispatch.Revisions(t.Context(), box, "penguin")
	for _, r := range revisions {
		if r.Applied.IsZero() || r.Err != nil {
			t.Errorf("%+v", r)
		}
	}
	if err != nil || len(revisions) != 3 || !revisions[2].Removed || revisions[1].Removed || revisions[0].Spec.Name != "penguin" {
		t.Errorf("%+v, %v", revisions, err)
	}
	if _, err := dispatch.Revisions(t.Context(), box, "nobody"); !errors.Is(err, events.ErrNotFound) {
		t.Errorf("a pipeline that never was: %v", err)
	}

	publish(t, box, "late", "t", transform())
	drain(t, d)
	if failed := failures(t, box, "late"); len(failed) != 1 || !strings.Contains(failed[0].Data.(*events.TrainingFailed).Message, "applied pipeline") {
		t.Errorf("an event of a pipeline that was removed: %+v", failed)
	}
}

// A run may begin while its pipeline is removed. A sweep ends it, or the operator does; a run that
// has a job continues.
func TestARunThatBeganWhileItsPipelineWasRemovedEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		box, d := setup(t, alone)
		arrive(t, box, d, "queued")
		first := wantJobs(t, box, "at first", "queued")
		apply(t, box, both)
		publish(t, box, "swept", "t", transform())
		publish(t, box, "by hand", "t", transform())
		drain(t, d)
		pipelines, err := box.Register(t.Context(), events.RegisterPipelines)
		if err != nil {
			t.Fatal(err)
		}
		if err := pipelines.Delete(t.Context(), "penguin", 2); err != nil { // as Remove does if it did not see the runs
			t.Fatal(err)
		}
		if got, err := dispatch.Cancel(t.Context(), box, "penguin", "by hand"); err != nil || got.Job != "" {
			t.Errorf("cancelled by hand: %+v, %v", got, err)
		}
		sweep(t, d)
		for _, run := range []string{"swept", "by hand"} {
			if j := joinOf(t, box, run); j.State != join.Ended || j.Ending.Kind != events.FailureCancelled {
				t.Errorf("%s: %+v", run, j)
			}
		}
		if j := joinOf(t, box, "swept"); !strings.Contains(j.Ending.Message, "its pipeline was removed") {
			t.Errorf("ended because %s", j.Ending.Message)
		}
		time.Sleep(missed)
		sweep(t, d)
		if again := wantJobs(t, box, "enqueued again", "queued"); again[0].ID != first[0].ID {
			t.Errorf("job %s became %s", first[0].ID, again[0].ID)
		}
	})
}

// A bus that has lost its pipelines has removed none: their runs wait until they are applied again.
func TestARunOfAPipelineThatTheBusHasLostWaits(t *testing.T) {
	t.Parallel()
	box, d := setup(t, both)
	joins, err := box.Register(t.Context(), events.RegisterJoins)
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

// A newer Stoker may have applied a pipeline that dispatchers still running can't read: events and
// outcomes wait for dispatchers that can.
func TestAPipelineThatCanNotBeReadMakesItsEventsWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		box, d := setup(t, fmt.Sprintf(limited, "1"))
		arrive(t, box, d, "a")
		first := wantJobs(t, box, "at first", "a")[0]
		pipelines, err := box.Register(t.Context(), events.RegisterPipelines)
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
		publish(t, box, "b", "t", transform())
		if _, err := box.Publish(t.Context(), outcomeOf(first)); err != nil {
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
		wantJobs(t, box, "then", "b")
		for letter := range box.Dead(t.Context()) {
			t.Errorf("buried %s", letter.Message.Subject)
		}
		if published := failures(t, box, "a"); len(published) != 0 {
			t.Errorf("a has a model, and failed with %+v", published)
		}
	})
}

func TestAnOutcomeOfARemovedPipelineIsNotRefused(t *testing.T) {
	t.Parallel()
	box, d := setup(t, fmt.Sprintf(limited, "1"))
	arrive(t, box, d, "a")
	first := wantJobs(t, box, "at first", "a")[0]
	pipelines, err := box.Register(t.Context(), events.RegisterPipelines)
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
	finish(t, box, d, first)
	if published := failures(t, box, "a"); len(published) != 0 {
		t.Errorf("a has a model, and failed with %+v", published)
	}
}
