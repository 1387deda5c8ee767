package replay_test

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/replay"
	"github.com/stoker-ml/stoker/functions/dispatch"
)

func TestARunWaitsForTheModelThatItStartsFrom(t *testing.T) {
	inWorld(t, chained, func(t *testing.T, w *world) {
		for _, run := range []string{"a", "b", "c"} {
			w.ready(run)
			w.settle()
		}
		before := w.models()
		w.wipe()
		equal(t, w.replay(replay.Options{}), "a offered", "a trained", "b offered", "b trained", "c offered", "c trained")
		if after := w.models(); len(after) != 3 || !maps.Equal(after, before) {
			t.Errorf("now %v, before %v", after, before)
		}
		w.wipe() // again: the newest events of the log are now those of the replay
		equal(t, w.replay(replay.Options{}), "a offered", "a trained", "b offered", "b trained", "c offered", "c trained")
	})
}

func TestTheModelsThatARunStartsFromAreFetchedToo(t *testing.T) {
	inWorld(t, chained, func(t *testing.T, w *world) {
		for _, run := range []string{"a", "b", "c"} {
			w.ready(run)
			w.settle()
		}
		w.wipe()
		got := w.survey(replay.Options{Run: "c"})
		equal(t, actions(got), "a train", "b train", "c train")
		if why := got.Steps[0].Why; !strings.Contains(why, "run b starts from it") {
			t.Errorf("why: %s", why)
		}
	})
}

func TestAnUnmadeBaseHoldsUpItsRunAlone(t *testing.T) {
	inWorld(t, chained, func(t *testing.T, w *world) {
		for _, run := range []string{"a", "b"} {
			w.ready(run)
			w.settle()
		}
		w.wipe()
		w.broken["a"] = true
		equal(t, w.replay(replay.Options{}), "a offered", "a failed", "b skipped")
		if len(deadLetters(t, w.bus)) != 1 {
			t.Error("b was tried without the model that it starts from")
		}
	})
}

// The model that was announced last is what "latest" means to the next run, before and after.
func TestTheLatestModelIsAnnouncedLast(t *testing.T) {
	inWorld(t, plain, func(t *testing.T, w *world) {
		w.ready("a")
		w.ready("b")
		w.ready("c")
		w.settle()
		equal(t, w.replay(replay.Options{Run: "a", Force: true, Request: "x"}), "a offered", "a trained")
		w.wipe()
		got := w.replay(replay.Options{})
		if len(got) != 6 || !slices.Equal(got[4:], []string{"a offered", "a trained"}) {
			t.Errorf("%q", got)
		}
	})
}

// A run was trained again, and another had started from its first model: both models are needed.
func TestARunMayHaveTwoModelsToMake(t *testing.T) {
	inWorld(t, chained, func(t *testing.T, w *world) {
		for _, run := range []string{"a", "b", "c"} {
			w.ready(run)
			w.settle()
		}
		equal(t, w.replay(replay.Options{Run: "a", Force: true, Request: "x"}), "a offered", "a trained")
		before := w.models()
		w.wipe()
		w.replay(replay.Options{})
		if after := w.models(); len(before) != 4 || !maps.Equal(after, before) {
			t.Errorf("now %v, before %v", after, before)
		}
	})
}

// outcomeOf returns the execution that was announced last for a run.
func (w *world) outcomeOf(run string) (execution string) {
	w.t.Helper()
	query := events.Query{Run: run, Kinds: []events.Kind{events.KindModelTrained}}
	for recorded, err := range w.bus.Read(w.t.Context(), query) {
		w.check(err)
		execution = recorded.Event.Data.(*events.ModelTrained).Execution
	}
	return execution
}

func TestOfTwoModelsTheRunsOwnIsAnnouncedLast(t *testing.T) {
	inWorld(t, chained, func(t *testing.T, w *world) {
		for _, run := range []string{"a", "b"} {
			w.ready(run)
			w.settle()
		}
		equal(t, w.replay(replay.Options{Run: "a", Force: true, Request: "x"}), "a offered", "a trained")
		w.ready("c") // its model is now the newest
		w.settle()
		before := w.outcomeOf("a")
		w.wipe()
		own := w.survey(replay.Options{}).Steps[1]
		if own.Run.Run != "a" || !slices.Contains(own.After, own.Run) {
			t.Errorf("the second step is %+v", own)
		}
		w.replay(replay.Options{})
		if after := w.outcomeOf("a"); after != before {
			t.Errorf("announced %s last, before it was %s", after, before)
		}
	})
}

func TestARunWithoutAJobWaitsForWhatLatestMeans(t *testing.T) {
	inWorld(t, chained, func(t *testing.T, w *world) {
		w.ready("a")
		w.settle()
		w.ready("b") // not handled by any dispatcher
		w.wipe()
		equal(t, w.replay(replay.Options{}), "a offered", "a trained", "b offered", "b trained")
	})
}

func TestAnErrorOfOneRunHoldsUpNoOther(t *testing.T) {
	inWorld(t, chained, func(t *testing.T, w *world) {
		for _, run := range []string{"a", "b", "c"} {
			w.ready(run)
			w.settle()
		}
		joins, err := w.bus.KV(t.Context(), events.KVJoins)
		w.check(err)
		entry, err := joins.Get(t.Context(), dispatch.JoinKey("penguin", "b"))
		w.check(err)
		gone := bytes.Replace(entry.Value, []byte(`"revision":1`), []byte(`"revision":999`), 1)
		_, err = joins.Update(t.Context(), entry.Key, gone, entry.Revision)
		w.check(err)
		w.wipe()
		got := w.survey(replay.Options{})
		equal(t, actions(got), "a train", "b stuck", "c stuck")
		if why := got.Steps[2].Why; !strings.Contains(why, "the model that it starts from is not available: run b trained it") {
			t.Errorf("why: %s", why)
		}
		equal(t, w.replay(replay.Options{}), "a offered", "a trained")
	})
}

func TestABaseModelWithoutAnEventIsReportedAsGone(t *testing.T) {
	file := strings.Replace(plain, "hyperparameters: none", "hyperparameters: none\n  base_model: s3://stoker/other/Trainer/model/"+strings.Repeat("0", 64)+"/x", 1)
	inWorld(t, file, func(t *testing.T, w *world) {
		w.ready("a")
		w.check(w.d.Next(t.Context(), 0))
		got := w.survey(replay.Options{})
		equal(t, actions(got), "a stuck")
		if why := got.Steps[0].Why; !strings.Contains(why, "no event of its training exists") {
			t.Errorf("why: %s", why)
		}
	})
}
