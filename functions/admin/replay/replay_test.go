package replay_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/replay"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

func TestACompleteRunIsLeftAsItIs(t *testing.T) {
	inWorld(t, plain, func(t *testing.T, w *world) {
		w.ready("a")
		w.ready("b")
		w.settle()
		equal(t, actions(w.survey(replay.Options{})), "a leave", "b leave")
		equal(t, w.replay(replay.Options{}))
	})
}

func TestAWipedStoreComesBackTheSame(t *testing.T) {
	for name, lose := range map[string]func(*world){
		"with its joins":    func(*world) {},
		"without its joins": (*world).forget,
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, plain, func(t *testing.T, w *world) {
				w.ready("a")
				w.ready("b")
				w.settle()
				before := w.models()
				w.wipe()
				lose(w)
				w.jobs = 0
				equal(t, actions(w.survey(replay.Options{})), "a train", "b train")
				equal(t, w.replay(replay.Options{}), "a offered", "a trained", "b offered", "b trained")
				if after := w.models(); len(after) != 2 || !maps.Equal(after, before) {
					t.Errorf("now %v, before %v", after, before)
				}
				if w.jobs != 2 {
					t.Errorf("%d jobs for 2 runs", w.jobs)
				}
				equal(t, actions(w.survey(replay.Options{})), "a leave", "b leave")
			})
		})
	}
}

func TestEachLossIsAnotherGeneration(t *testing.T) {
	inWorld(t, plain, func(t *testing.T, w *world) {
		w.ready("a")
		w.settle()
		for range 3 {
			w.wipe()
			equal(t, w.replay(replay.Options{}), "a offered", "a trained")
		}
		var generations []int
		for recorded, err := range w.bus.Read(t.Context(), events.Query{Kinds: []events.Kind{events.KindModelTrained}}) {
			w.check(err)
			generations = append(generations, recorded.Event.Data.(*events.ModelTrained).Generation)
		}
		if !slices.Equal(generations, []int{0, 1, 2, 3}) {
			t.Errorf("generations %v", generations)
		}
	})
}

// Two runs share an execution. The run whose model was made again by the other's job gets an event.
func TestAModelThatAnotherRunMadeAgainIsAnnounced(t *testing.T) {
	inWorld(t, plain, func(t *testing.T, w *world) {
		graph := &events.TransformReady{TransformGraph: "s3://inputs/same"}
		for _, run := range []string{"a", "b"} {
			w.publish(events.Event{ID: run, Source: "/up", Pipeline: "penguin", Run: run, Data: graph})
		}
		w.settle()
		w.wipe()
		equal(t, w.replay(replay.Options{Run: "a"}), "a offered", "a trained")
		equal(t, actions(w.survey(replay.Options{})), "a leave", "b train")
		equal(t, w.replay(replay.Options{}), "b offered", "b trained")
		equal(t, actions(w.survey(replay.Options{})), "a leave", "b leave")
		equal(t, w.trained, "a", "a")
	})
}

func TestARefusedEventIsNotTheEndOfItsRun(t *testing.T) {
	inWorld(t, plain, func(t *testing.T, w *world) {
		w.ready("a")
		w.settle()
		w.wipe()
		inline := &events.TransformReady{TransformGraph: "s3://inputs/a", Request: events.Request{PipelineSpec: []byte("{}")}}
		w.publish(events.Event{ID: "inline", Source: "/up", Pipeline: "penguin", Run: "a", Data: inline})
		w.settle()
		if len(deadLetters(t, w.bus)) != 1 {
			t.Fatal("the event was not refused")
		}
		equal(t, w.replay(replay.Options{}), "a offered", "a trained")
	})
}

func TestAWaitingRunIsJoinedAgain(t *testing.T) {
	inWorld(t, strings.Replace(plain, "[transform]", "[transform, examples]", 1), func(t *testing.T, w *world) {
		w.ready("a")
		w.settle()
		for _, lose := range []func(){func() {}, w.forget} {
			lose()
			got := w.survey(replay.Options{})
			equal(t, actions(got), "a join")
			if waits := got.Steps[0].WaitsFor; !slices.Equal(waits, []events.Kind{events.KindExamplesReady}) {
				t.Errorf("waits for %v", waits)
			}
			equal(t, w.replay(replay.Options{}), "a joined")
			if state := w.state("a"); state != join.Waiting {
				t.Errorf("the join is %s", state)
			}
		}
	})
}

func TestALostJobIsEnqueuedAgain(t *testing.T) {
	inWorld(t, plain, func(t *testing.T, w *world) {
		w.ready("a")
		w.check(w.d.Next(t.Context(), 0))
		claim, err := w.bus.Claim(t.Context(), events.FunctionTrain, []string{"cpu"}, 0)
		w.check(err)
		r, err := replay.New(t.Context(), w.bus, w.store, nil)
		w.check(err)
		w.check(r.Do(t.Context(), w.survey(replay.Options{}), false, func(replay.Progress) {}))
		if w.work(t.Context()) {
			t.Error("a job that a worker has was enqueued once more")
		}
		w.check(claim.Ack(t.Context())) // the job is lost
		equal(t, w.replay(replay.Options{}), "a offered", "a trained")
		w.ready("b")
		w.check(w.d.Next(t.Context(), 0))
		w.settle()
		w.ready("c")
		w.check(w.d.Next(t.Context(), 0))
		w.forget()
		equal(t, w.replay(replay.Options{}), "c offered", "c trained")
	})
}

func TestFailedAndCancelledRunsAreLeft(t *testing.T) {
	inWorld(t, plain, func(t *testing.T, w *world) {
		w.broken["a"] = true
		w.ready("a")
		w.settle()
		w.check(dispatch.Pause(t.Context(), w.bus, "penguin"))
		w.ready("b")
		w.ready("c")
		w.settle()
		_, err := dispatch.Cancel(t.Context(), w.bus, "penguin", "b")
		w.check(err)
		for _, lose := range []func(){func() {}, w.forget} {
			got := w.survey(replay.Options{})
			equal(t, actions(got)[:2], "a leave", "b leave")
			if why := got.Steps[0].Why; !strings.Contains(why, "it failed: input: it raised") {
				t.Errorf("why: %s", why)
			}
			lose()
		}
	})
}

func TestARunThatWaitsForAdmissionIsLeft(t *testing.T) {
	inWorld(t, plain, func(t *testing.T, w *world) {
		w.check(dispatch.Pause(t.Context(), w.bus, "penguin"))
		w.ready("a")
		w.settle()
		got := w.survey(replay.Options{})
		equal(t, actions(got), "a leave")
		if got.Steps[0].Why != "its pipeline is paused" {
			t.Errorf("why: %s", got.Steps[0].Why)
		}
	})
}

func TestAForcedRunIsAnExecutionOfItsOwn(t *testing.T) {
	inWorld(t, plain, func(t *testing.T, w *world) {
		w.ready("a")
		w.settle()
		one := replay.Options{Force: true, Request: "one"}
		equal(t, w.replay(one), "a offered", "a trained")
		equal(t, actions(w.survey(one)), "a leave")
		equal(t, w.replay(replay.Options{Force: true, Request: "two"}), "a offered", "a trained")
		before := w.models()
		if len(before) != 3 {
			t.Errorf("%d executions, want 3", len(before))
		}
		// A replay makes the execution that was announced last.
		w.wipe()
		equal(t, w.replay(replay.Options{}), "a offered", "a trained")
		after := w.models()
		whole := 0
		for execution, digest := range after {
			if digest != "gone" {
				whole++
				if digest != before[execution] {
					t.Errorf("execution %s has other bytes", execution)
				}
			}
		}
		if whole != 1 || len(after) != 3 {
			t.Errorf("%d of %d executions are whole", whole, len(after))
		}
	})
}

func TestFromSelectsLaterRuns(t *testing.T) {
	inWorld(t, plain, func(t *testing.T, w *world) {
		w.ready("old")
		w.settle()
		time.Sleep(time.Hour)
		noon := time.Now()
		w.ready("new")
		w.settle()
		for name, opts := range map[string]replay.Options{
			"by time":     {From: replay.From{Time: noon}},
			"by sequence": {From: replay.From{Sequence: 3}},
			"by run":      {Run: "new"},
		} {
			if got := actions(w.survey(opts)); !slices.Equal(got, []string{"new leave"}) {
				t.Errorf("%s: %q", name, got)
			}
		}
		if got := actions(w.survey(replay.Options{Pipeline: "other"})); len(got) > 0 {
			t.Errorf("by pipeline: %q", got)
		}
	})
}
