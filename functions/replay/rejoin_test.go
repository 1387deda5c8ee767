package replay_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/replay"
)

// lose removes the joins of runs.
func (w *world) lose(runs ...string) {
	w.t.Helper()
	joins, err := w.box.Register(w.t.Context(), events.RegisterJoins)
	w.check(err)
	for _, run := range runs {
		entry, err := joins.Get(w.t.Context(), dispatch.JoinKey("penguin", run))
		w.check(err)
		w.check(joins.Delete(w.t.Context(), entry.Key, entry.Revision))
	}
}

func (w *world) state(run string) join.State {
	w.t.Helper()
	j, err := dispatch.ReadJoin(w.t.Context(), w.box, "penguin", run)
	w.check(err)
	return j.State
}

// unconfirmed says whether a run has a job that nobody has enqueued.
func (w *world) unconfirmed(run string) bool {
	w.t.Helper()
	j, err := dispatch.ReadJoin(w.t.Context(), w.box, "penguin", run)
	w.check(err)
	return j.State == join.Dispatched && j.Current().Unconfirmed
}

// admitted is a run that has its place at the gate, and whose dispatcher died before it enqueued the job.
func (w *world) admitted(run string) {
	w.t.Helper()
	w.tell(run)
	dying, err := dispatch.New(w.t.Context(), noQueue{w.box}, nil)
	w.check(err)
	if err := dying.Next(w.t.Context(), 0); err == nil || !w.unconfirmed(run) {
		w.t.Fatalf("run %s is %s, %v; want it to be dispatched without a job on the queue", run, w.state(run), err)
	}
}

// noQueue is a bus whose queue takes nothing.
type noQueue struct{ events.Letterbox }

func (noQueue) Offer(context.Context, events.Job) error { return events.ErrRefused }

func TestALostJoinComesBackWithoutATouchOnOtherRuns(t *testing.T) {
	inWorld(t, plain+"concurrency: 2\n", func(t *testing.T, w *world) {
		w.tell("old")
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
			w.tell(run)
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
		for r, err := range w.box.Read(t.Context(), events.Query{Kinds: []events.Kind{events.KindTrainingFailed}}) {
			w.check(err)
			t.Errorf("told of run %s: %s", r.Fact.Run, r.Fact.Data.(*events.TrainingFailed).Message)
		}
	})
}

// late deploys a pipeline whose first fact came too early, and returns what tells of its run.
func (w *world) late() func(id, graph string) {
	w.t.Helper()
	tell := func(id, graph string) {
		w.publish(events.Fact{ID: id, Source: "/up", Pipeline: "puffin", Run: "monday", Data: &events.TransformReady{TransformGraph: graph}})
	}
	tell("first", "s3://inputs/first")
	w.settle()
	p, err := pipeline.Parse("puffin.yaml", []byte(strings.Replace(plain, "penguin", "puffin", 1)))
	w.check(err)
	_, _, err = dispatch.Apply(w.t.Context(), w.box, p)
	w.check(err)
	return tell
}

// executions are those that facts of a pipeline tell of, in their order.
func (w *world) executions() (all []string) {
	w.t.Helper()
	for r, err := range w.box.Read(w.t.Context(), events.Query{Kinds: []events.Kind{events.KindModelTrained}}) {
		w.check(err)
		all = append(all, r.Fact.Data.(*events.ModelTrained).Execution)
	}
	return all
}

func TestAFactThatWasRefusedDoesNotCountForALostJoin(t *testing.T) {
	inWorld(t, plain, func(t *testing.T, w *world) {
		tell := w.late()
		tell("second", "s3://inputs/second")
		w.settle()
		w.forget()
		w.wipe()
		equal(t, w.replay(replay.Options{}), "monday offered", "monday trained")
		if made := w.executions(); len(made) != 2 || made[0] != made[1] {
			t.Errorf("made %q, want the same again", made)
		}
	})
}

func TestAFactThatWasRefusedIsNotJoinedAgain(t *testing.T) {
	inWorld(t, plain, func(t *testing.T, w *world) {
		tell := w.late()
		equal(t, actions(w.survey(replay.Options{})), "monday leave")
		tell("second", "s3://inputs/second")
		w.check(w.d.Next(t.Context(), 0))
		w.forget() // with its job on the queue
		equal(t, w.replay(replay.Options{}), "monday offered", "monday trained")
		j, err := dispatch.ReadJoin(t.Context(), w.box, "puffin", "monday")
		if w.check(err); len(j.Events) != 1 || j.Events[0].ID != "second" {
			t.Errorf("joined %+v", j.Events)
		}
	})
}

func TestAFactThatWasHandledAgainCountsForALostJoin(t *testing.T) {
	inWorld(t, plain, func(t *testing.T, w *world) {
		tell := w.late()
		w.check(replay.Retry(t.Context(), w.box, w.d, letters(t, w.box)[0]))
		tell("second", "s3://inputs/second") // comes too late for the run
		w.settle()
		w.forget()
		w.wipe()
		equal(t, w.replay(replay.Options{}), "monday offered", "monday trained")
		if made := w.executions(); len(made) != 2 || made[0] != made[1] {
			t.Errorf("made %q, want the same again", slices.Compact(made))
		}
	})
}
