package replay_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/plan"
	"github.com/stoker-ml/stoker/functions/replay"
	"github.com/stoker-ml/stoker/storage"
)

func TestWhatIsWholeIsLeftAlone(t *testing.T) {
	inWorld(t, plain, func(t *testing.T, w *world) {
		w.tell("a")
		w.tell("b")
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
				w.tell("a")
				w.tell("b")
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
		w.tell("a")
		w.settle()
		for range 3 {
			w.wipe()
			equal(t, w.replay(replay.Options{}), "a offered", "a trained")
		}
		var generations []int
		for recorded, err := range w.box.Read(t.Context(), events.Query{Kinds: []events.Kind{events.KindModelTrained}}) {
			w.check(err)
			generations = append(generations, recorded.Fact.Data.(*events.ModelTrained).Generation)
		}
		if !slices.Equal(generations, []int{0, 1, 2, 3}) {
			t.Errorf("generations %v", generations)
		}
	})
}

// Two runs share an execution. The one whose model was made again by the other's job gets to know of it.
func TestARunIsToldOfAModelThatAnotherRunMadeAgain(t *testing.T) {
	inWorld(t, plain, func(t *testing.T, w *world) {
		graph := &events.TransformReady{TransformGraph: "s3://inputs/same"}
		for _, run := range []string{"a", "b"} {
			w.publish(events.Fact{ID: run, Source: "/up", Pipeline: "penguin", Run: run, Data: graph})
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

func TestARunWaitsForTheModelThatItStartsFrom(t *testing.T) {
	inWorld(t, chained, func(t *testing.T, w *world) {
		for _, run := range []string{"a", "b", "c"} {
			w.tell(run)
			w.settle()
		}
		before := w.models()
		w.wipe()
		equal(t, w.replay(replay.Options{}), "a offered", "a trained", "b offered", "b trained", "c offered", "c trained")
		if after := w.models(); len(after) != 3 || !maps.Equal(after, before) {
			t.Errorf("now %v, before %v", after, before)
		}
		w.wipe() // again, now that the newest facts of the log are those of the replay
		equal(t, w.replay(replay.Options{}), "a offered", "a trained", "b offered", "b trained", "c offered", "c trained")
	})
}

func TestTheModelsThatARunStartsFromAreFetchedToo(t *testing.T) {
	inWorld(t, chained, func(t *testing.T, w *world) {
		for _, run := range []string{"a", "b", "c"} {
			w.tell(run)
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
			w.tell(run)
			w.settle()
		}
		w.wipe()
		w.broken["a"] = true
		equal(t, w.replay(replay.Options{}), "a offered", "a failed", "b skipped")
		if len(letters(t, w.box)) != 1 {
			t.Error("b was tried without the model that it starts from")
		}
	})
}

// The model that was told of last is what "latest" means to the next run, before and after.
func TestTheLatestModelIsToldOfLast(t *testing.T) {
	inWorld(t, plain, func(t *testing.T, w *world) {
		w.tell("a")
		w.tell("b")
		w.tell("c")
		w.settle()
		equal(t, w.replay(replay.Options{Run: "a", Force: true, Request: "x"}), "a offered", "a trained")
		w.wipe()
		got := w.replay(replay.Options{})
		if len(got) != 6 || !slices.Equal(got[4:], []string{"a offered", "a trained"}) {
			t.Errorf("%q", got)
		}
	})
}

// A run was trained anew, and another had started from its first model: both models are needed.
func TestARunMayHaveTwoModelsToMake(t *testing.T) {
	inWorld(t, chained, func(t *testing.T, w *world) {
		for _, run := range []string{"a", "b", "c"} {
			w.tell(run)
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

// outcomeOf is the execution that was told of last for a run.
func (w *world) outcomeOf(run string) (execution string) {
	w.t.Helper()
	query := events.Query{Run: run, Kinds: []events.Kind{events.KindModelTrained}}
	for recorded, err := range w.box.Read(w.t.Context(), query) {
		w.check(err)
		execution = recorded.Fact.Data.(*events.ModelTrained).Execution
	}
	return execution
}

func TestOfTwoModelsTheRunsOwnIsToldOfLast(t *testing.T) {
	inWorld(t, chained, func(t *testing.T, w *world) {
		for _, run := range []string{"a", "b"} {
			w.tell(run)
			w.settle()
		}
		equal(t, w.replay(replay.Options{Run: "a", Force: true, Request: "x"}), "a offered", "a trained")
		w.tell("c") // whose model is the newest now
		w.settle()
		before := w.outcomeOf("a")
		w.wipe()
		own := w.survey(replay.Options{}).Steps[1]
		if own.Run.Run != "a" || !slices.Contains(own.After, own.Run) {
			t.Errorf("the second step is %+v", own)
		}
		w.replay(replay.Options{})
		if after := w.outcomeOf("a"); after != before {
			t.Errorf("told last of %s, before it was %s", after, before)
		}
	})
}

func TestARunWithoutAJobWaitsForWhatLatestMeans(t *testing.T) {
	inWorld(t, chained, func(t *testing.T, w *world) {
		w.tell("a")
		w.settle()
		w.tell("b") // no dispatcher sees it
		w.wipe()
		equal(t, w.replay(replay.Options{}), "a offered", "a trained", "b offered", "b trained")
	})
}

func TestARefusedFactIsNotTheEndOfItsRun(t *testing.T) {
	inWorld(t, plain, func(t *testing.T, w *world) {
		w.tell("a")
		w.settle()
		w.wipe()
		inline := &events.TransformReady{TransformGraph: "s3://inputs/a", Request: events.Request{PipelineSpec: []byte("{}")}}
		w.publish(events.Fact{ID: "inline", Source: "/up", Pipeline: "penguin", Run: "a", Data: inline})
		w.settle()
		if len(letters(t, w.box)) != 1 {
			t.Fatal("the fact was not refused")
		}
		equal(t, w.replay(replay.Options{}), "a offered", "a trained")
	})
}

func TestTroubleWithOneRunHoldsUpNoOther(t *testing.T) {
	inWorld(t, chained, func(t *testing.T, w *world) {
		for _, run := range []string{"a", "b", "c"} {
			w.tell(run)
			w.settle()
		}
		joins, err := w.box.Register(t.Context(), events.RegisterJoins)
		w.check(err)
		entry, err := joins.Get(t.Context(), dispatch.JoinKey("penguin", "b"))
		w.check(err)
		_, err = joins.Update(t.Context(), entry.Key, []byte("{"), entry.Revision)
		w.check(err)
		w.wipe()
		got := w.survey(replay.Options{})
		equal(t, actions(got), "a train", "b stuck", "c stuck")
		if why := got.Steps[2].Why; !strings.Contains(why, "the model that it starts from can't be had: run b made it") {
			t.Errorf("why: %s", why)
		}
		equal(t, w.replay(replay.Options{}), "a offered", "a trained")
	})
}

func TestABaseModelThatNobodyMadeIsSaidToBeGone(t *testing.T) {
	file := strings.Replace(plain, "hyperparameters: none", "hyperparameters: none\n  base_model: s3://stoker/other/Trainer/model/"+strings.Repeat("0", 64)+"/x", 1)
	inWorld(t, file, func(t *testing.T, w *world) {
		w.tell("a")
		w.check(w.d.Next(t.Context(), 0))
		got := w.survey(replay.Options{})
		equal(t, actions(got), "a stuck")
		if why := got.Steps[0].Why; !strings.Contains(why, "no fact tells how it was made") {
			t.Errorf("why: %s", why)
		}
	})
}

func TestAWaitingRunIsJoinedAgain(t *testing.T) {
	inWorld(t, strings.Replace(plain, "[transform]", "[transform, examples]", 1), func(t *testing.T, w *world) {
		w.tell("a")
		w.settle()
		for _, lose := range []func(){func() {}, w.forget} {
			lose()
			got := w.survey(replay.Options{})
			equal(t, actions(got), "a join")
			if waits := got.Steps[0].WaitsFor; !slices.Equal(waits, []events.Kind{events.KindExamplesReady}) {
				t.Errorf("waits for %v", waits)
			}
			equal(t, w.replay(replay.Options{}), "a joined")
			if join, err := dispatch.ReadJoin(t.Context(), w.box, "penguin", "a"); err != nil || join.State != plan.Waiting {
				t.Errorf("join %+v, %v", join, err)
			}
		}
	})
}

func TestALostJobIsOfferedAgain(t *testing.T) {
	inWorld(t, plain, func(t *testing.T, w *world) {
		w.tell("a")
		w.check(w.d.Next(t.Context(), 0))
		claim, err := w.box.Take(t.Context(), events.FunctionTrain, []string{"cpu"}, 0)
		w.check(err)
		r, err := replay.New(t.Context(), w.box, w.store, nil)
		w.check(err)
		w.check(r.Do(t.Context(), w.survey(replay.Options{}), false, func(replay.Progress) {}))
		if w.work(t.Context()) {
			t.Error("a job that a worker has was put on the queue once more")
		}
		w.check(claim.Done(t.Context())) // and it was lost
		equal(t, w.replay(replay.Options{}), "a offered", "a trained")
		w.tell("b")
		w.check(w.d.Next(t.Context(), 0))
		w.settle()
		w.tell("c")
		w.check(w.d.Next(t.Context(), 0))
		w.forget()
		equal(t, w.replay(replay.Options{}), "c offered", "c trained")
	})
}

func TestFailedAndCancelledRunsAreLeft(t *testing.T) {
	inWorld(t, plain, func(t *testing.T, w *world) {
		w.broken["a"] = true
		w.tell("a")
		w.settle()
		w.check(dispatch.Pause(t.Context(), w.box, "penguin"))
		w.tell("b")
		w.tell("c")
		w.settle()
		_, err := dispatch.Cancel(t.Context(), w.box, "penguin", "b")
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

func TestAHeldRunIsLeftToItsGate(t *testing.T) {
	inWorld(t, plain, func(t *testing.T, w *world) {
		w.check(dispatch.Pause(t.Context(), w.box, "penguin"))
		w.tell("a")
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
		w.tell("a")
		w.settle()
		one := replay.Options{Force: true, Request: "one"}
		equal(t, w.replay(one), "a offered", "a trained")
		equal(t, actions(w.survey(one)), "a leave")
		equal(t, w.replay(replay.Options{Force: true, Request: "two"}), "a offered", "a trained")
		before := w.models()
		if len(before) != 3 {
			t.Errorf("%d executions, want 3", len(before))
		}
		// What a replay makes again is the execution that was told of last.
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

func TestOnlyRunsFromThereOnAreLookedAt(t *testing.T) {
	inWorld(t, plain, func(t *testing.T, w *world) {
		w.tell("old")
		w.settle()
		time.Sleep(time.Hour)
		noon := time.Now()
		w.tell("new")
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

// reading is a bus and a store on which any write fails the test.
type reading struct {
	events.Letterbox
	t *testing.T
}

func (r reading) Publish(context.Context, events.Fact) (events.Receipt, error) {
	r.t.Error("published")
	return events.Receipt{}, errors.New("read only")
}
func (r reading) Offer(context.Context, events.Job) error { r.t.Error("offered"); return nil }
func (r reading) Register(ctx context.Context, name string) (events.Register, error) {
	register, err := r.Letterbox.Register(ctx, name)
	return readingRegister{register, r.t}, err
}

type readingRegister struct {
	events.Register
	t *testing.T
}

func (r readingRegister) Create(context.Context, string, []byte) (uint64, error) {
	r.t.Error("created an entry")
	return 0, errors.New("read only")
}
func (r readingRegister) Update(context.Context, string, []byte, uint64) (uint64, error) {
	r.t.Error("updated an entry")
	return 0, errors.New("read only")
}
func (r readingRegister) Delete(context.Context, string, uint64) error {
	r.t.Error("deleted an entry")
	return errors.New("read only")
}

type readingStore struct {
	storage.Store
	t *testing.T
}

func (s readingStore) Put(context.Context, storage.Ref, io.Reader, int64) (storage.Object, error) {
	s.t.Error("put an object")
	return storage.Object{}, errors.New("read only")
}
func (s readingStore) PutIf(context.Context, storage.Ref, []byte, storage.Condition) (storage.Object, error) {
	s.t.Error("put an object")
	return storage.Object{}, errors.New("read only")
}
func (s readingStore) Delete(context.Context, storage.Ref) error {
	s.t.Error("deleted an object")
	return errors.New("read only")
}

func TestASurveyChangesNothing(t *testing.T) {
	inWorld(t, chained, func(t *testing.T, w *world) {
		for _, run := range []string{"a", "b"} {
			w.tell(run)
			w.settle()
		}
		w.tell("waits")
		for _, lose := range []func(){func() {}, w.wipe, w.forget} {
			lose()
			r, err := replay.New(t.Context(), reading{w.box, t}, readingStore{w.store, t}, nil)
			w.check(err)
			for _, force := range []bool{false, true} {
				_, err = r.Survey(t.Context(), replay.Options{Force: force, Request: "x"})
				w.check(err)
			}
		}
	})
}
