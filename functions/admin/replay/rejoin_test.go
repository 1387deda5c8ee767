package replay_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/replay"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runs"
)

// lose removes the joins of runs.
func (w *world) lose(runs ...string) {
	w.t.Helper()
	joins, err := w.bus.KV(w.t.Context(), events.KVJoins)
	w.check(err)
	for _, run := range runs {
		entry, err := joins.Get(w.t.Context(), dispatch.JoinKey("penguin", run))
		w.check(err)
		w.check(joins.Delete(w.t.Context(), entry.Key, entry.Revision))
	}
}

func (w *world) state(run string) join.State {
	w.t.Helper()
	return w.join("penguin", run).State
}

func (w *world) join(pipeline, run string) join.Join {
	w.t.Helper()
	j, err := runs.Open(w.bus, runs.Options{}).Join(w.t.Context(), runs.Key{Pipeline: pipeline, Run: run})
	w.check(err)
	return j
}

// unconfirmed reports whether a run has a job that was not enqueued.
func (w *world) unconfirmed(run string) bool {
	w.t.Helper()
	j := w.join("penguin", run)
	return j.State == join.Dispatched && j.Current().Unconfirmed
}

// admitted makes a run that is admitted, and whose dispatcher died before it enqueued the job.
func (w *world) admitted(run string) {
	w.t.Helper()
	w.ready(run)
	dying, err := dispatch.New(w.t.Context(), noQueue{w.bus}, nil)
	w.check(err)
	if err := dying.Next(w.t.Context(), 0); err == nil || !w.unconfirmed(run) {
		w.t.Fatalf("run %s is %s, %v; want it to be dispatched without a job on the queue", run, w.state(run), err)
	}
}

// noQueue is a bus whose queue accepts nothing.
type noQueue struct{ events.Bus }

func (noQueue) Enqueue(context.Context, events.Job) error { return events.ErrRefused }

func TestALostJoinComesBackWithoutChangingOtherRuns(t *testing.T) {
	inWorld(t, plain+"concurrency: 2\n", func(t *testing.T, w *world) {
		w.ready("old")
		w.settle()
		w.admitted("new")
		w.lose("old")
		w.wipe()
		equal(t, w.replay(replay.Options{Run: "old"}), "old offered", "old trained")
		if !w.unconfirmed("new") {
			t.Errorf("the job of run new was enqueued: it is %s", w.state("new"))
		}
		w.check(w.d.Sweep(t.Context()))
		w.settle()
		equal(t, w.trained, "old", "old", "new")
	})
}

func TestAReplaySupersedesNoRunThatHasItsModel(t *testing.T) {
	inWorld(t, plain+"concurrency: {runs: 1, newest: supersede}\n", func(t *testing.T, w *world) {
		for _, run := range []string{"a", "b", "c"} {
			w.ready(run)
			w.settle()
		}
		w.admitted("d")
		w.lose("a", "b", "c")
		w.wipe()
		equal(t, w.replay(replay.Options{Run: "a"}), "a offered", "a trained")
		w.settle()
		w.replay(replay.Options{})
		for _, run := range []string{"a", "b", "c"} {
			if now := w.state(run); now != join.Dispatched {
				t.Errorf("run %s is %s", run, now)
			}
		}
		for r, err := range w.bus.Read(t.Context(), events.Query{Kinds: []events.Kind{events.KindTrainingFailed}}) {
			w.check(err)
			t.Errorf("run %s failed: %s", r.Event.Run, r.Event.Data.(*events.TrainingFailed).Message)
		}
	})
}

// late deploys a pipeline whose first event arrived too early, and returns a function that
// publishes further events of its run.
func (w *world) late() func(id, graph string) {
	w.t.Helper()
	ready := func(id, graph string) {
		w.publish(events.Event{ID: id, Source: "/up", Pipeline: "puffin", Run: "monday", Data: &events.TransformReady{TransformGraph: graph}})
	}
	ready("first", "s3://inputs/first")
	w.settle()
	p, err := pipeline.Parse("puffin.yaml", []byte(strings.Replace(plain, "penguin", "puffin", 1)))
	w.check(err)
	_, _, err = dispatch.Apply(w.t.Context(), w.bus, p)
	w.check(err)
	return ready
}

// executions returns the executions that events of a pipeline name, in order.
func (w *world) executions() (all []string) {
	w.t.Helper()
	for r, err := range w.bus.Read(w.t.Context(), events.Query{Kinds: []events.Kind{events.KindModelTrained}}) {
		w.check(err)
		all = append(all, r.Event.Data.(*events.ModelTrained).Execution)
	}
	return all
}

func TestARefusedEventDoesNotCountForALostJoin(t *testing.T) {
	inWorld(t, plain, func(t *testing.T, w *world) {
		ready := w.late()
		ready("second", "s3://inputs/second")
		w.settle()
		w.forget()
		w.wipe()
		equal(t, w.replay(replay.Options{}), "monday offered", "monday trained")
		if made := w.executions(); len(made) != 2 || made[0] != made[1] {
			t.Errorf("made %q, want the same again", made)
		}
	})
}

func TestARefusedEventIsNotJoinedAgain(t *testing.T) {
	inWorld(t, plain, func(t *testing.T, w *world) {
		ready := w.late()
		equal(t, actions(w.survey(replay.Options{})), "monday leave")
		ready("second", "s3://inputs/second")
		w.check(w.d.Next(t.Context(), 0))
		w.forget() // its job is on the queue
		equal(t, w.replay(replay.Options{}), "monday offered", "monday trained")
		if j := w.join("puffin", "monday"); len(j.Events) != 1 || j.Events[0].ID != "second" {
			t.Errorf("joined %+v", j.Events)
		}
	})
}

func TestAnEventThatWasHandledAgainCountsForALostJoin(t *testing.T) {
	inWorld(t, plain, func(t *testing.T, w *world) {
		ready := w.late()
		w.check(replay.Retry(t.Context(), w.bus, w.d, deadLetters(t, w.bus)[0]))
		ready("second", "s3://inputs/second") // too late for the run
		w.settle()
		w.forget()
		w.wipe()
		equal(t, w.replay(replay.Options{}), "monday offered", "monday trained")
		if made := w.executions(); len(made) != 2 || made[0] != made[1] {
			t.Errorf("made %q, want the same again", slices.Compact(made))
		}
	})
}
