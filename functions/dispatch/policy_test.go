package dispatch_test

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

const tuning = "pipeline: penguin\nmodule: builtin:dnn\ntuner: {when: never, on_failed: %s}\n"

// published returns the events of one type of a run, and their data.
func published[D events.Data](t *testing.T, bus events.Bus, run string) (evs []events.Event, all []D) {
	t.Helper()
	for r, err := range bus.Read(t.Context(), events.Query{Pipeline: "penguin", Run: run}) {
		if err != nil {
			t.Fatal(err)
		}
		if data, ok := r.Event.Data.(D); ok {
			evs, all = append(evs, r.Event), append(all, data)
		}
	}
	return evs, all
}

func TestARunThatIsNotTunedGetsTheLastBestHyperparameters(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, fmt.Sprintf(tuning, "fail"))
	score := 0.9
	publish(t, bus, "sunday", "h0", hparams("s3://bkt/older"))
	publish(t, bus, "sunday", "h1", &events.HParamsReady{
		Hyperparameters: "s3://bkt/best", Values: map[string]any{"units": 8.0}, Score: &score, Objective: "accuracy", Study: "s",
		Request: events.Request{Force: true},
	})
	publish(t, bus, "monday", "t", transform())
	publish(t, bus, "tuesday", "h2", hparams("s3://bkt/later"))
	publish(t, bus, "monday", "e", &events.ExamplesReady{Examples: []events.Examples{{URI: "s3://bkt/raw"}}})
	drain(t, d)
	evs, all := published[*events.HParamsReady](t, bus, "monday")
	if len(all) != 1 {
		t.Fatalf("published %d times, want once", len(all))
	}
	got := all[0]
	if !got.Reused || got.Hyperparameters != "s3://bkt/best" || *got.Score != score || got.Objective != "accuracy" || got.Study != "s" ||
		got.Values["units"] != 8.0 || got.Force || evs[0].Causation != "t" {
		t.Errorf("published %+v because of %s", got, evs[0].Causation)
	}
	if job := wantJobs(t, bus, "then", "monday"); job[0].Inputs.Hyperparameters != "s3://bkt/best" || job[0].Salt != "" {
		t.Errorf("job %+v", job[0].Inputs)
	}
}

func TestARunThatBringsItsOwnHyperparametersGetsNoOthers(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, fmt.Sprintf(tuning, "latest"))
	publish(t, bus, "sunday", "h", hparams("s3://bkt/best"))
	publish(t, bus, "monday", "h", hparams("s3://bkt/own"))
	publish(t, bus, "monday", "t", transform())
	drain(t, d)
	if job := wantJobs(t, bus, "then", "monday"); job[0].Inputs.Hyperparameters != "s3://bkt/own" {
		t.Errorf("job %+v", job[0].Inputs)
	}
	if _, all := published[*events.HParamsReady](t, bus, "monday"); len(all) != 1 {
		t.Errorf("published %d times", len(all))
	}
}

func TestARunWithNothingToReuseEnds(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string]string{
		"latest": "incomplete: tuning failed: tuning is skipped, and the pipeline has no earlier hyperparameters to reuse; the pipeline has no earlier hyperparameters to use instead",
		"fail":   "incomplete: tuning failed: tuning is skipped, and the pipeline has no earlier hyperparameters to reuse; the pipeline's tuner.on_failed is fail",
	} {
		bus, d := setup(t, fmt.Sprintf(tuning, policy))
		publish(t, bus, "monday", "t", transform())
		drain(t, d)
		if _, all := published[*events.TuningFailed](t, bus, "monday"); len(all) != 1 || all[0].Reason != events.FailureIncomplete {
			t.Errorf("%s: tuning failed %d times", policy, len(all))
		}
		if got := called(t, bus, "monday"); got != want {
			t.Errorf("%s: failed with %q, want %q", policy, got, want)
		}
		publish(t, bus, "monday", "h", hparams("s3://bkt/late"))
		drain(t, d)
		wantJobs(t, bus, policy)
	}
}

func TestARunWhoseTuningFailedUsesTheLastBest(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, fmt.Sprintf(tuning, "latest"))
	publish(t, bus, "monday", "f", &events.TuningFailed{Failed: events.Failed{Reason: events.FailureModule, Message: "boom"}})
	publish(t, bus, "sunday", "h", hparams("s3://bkt/best"))
	publish(t, bus, "monday", "t", transform())
	publish(t, bus, "tuesday", "h", hparams("s3://bkt/later"))
	drain(t, d)
	if job := wantJobs(t, bus, "then", "monday"); job[0].Inputs.Hyperparameters != "s3://bkt/best" {
		t.Errorf("job %+v", job[0].Inputs)
	}
}

func TestLatestIgnoresMessagesThatAreNoEvents(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, "pipeline: penguin\nmodule: ./m\ntrainer: {hyperparameters: latest, base_model: latest}\n")
	arrive(t, bus, d, "sunday")
	trained := outcomeOf(wantJobs(t, bus, "at first", "sunday")[0])
	if _, err := bus.Publish(t.Context(), trained); err != nil {
		t.Fatal(err)
	}
	publish(t, bus, "sunday", "h", hparams("s3://bkt/best"))
	publish(t, bus, "sunday", "refused", &events.HParamsReady{
		Hyperparameters: "s3://bkt/refused", Request: events.Request{PipelineSpec: []byte("{}")},
	})
	for _, subject := range []string{"events.hparams-ready.penguin.sunday.x", "events.model-trained.penguin.sunday.x", "events.transform-ready.penguin.monday.x"} {
		if err := bus.Inject(t.Context(), subject, nil, []byte(`{"specversion":"1.0"}`)); err != nil {
			t.Fatal(err)
		}
	}
	publish(t, bus, "monday", "t", transform())
	drain(t, d)
	job := wantJobs(t, bus, "then", "monday")[0]
	if job.Inputs.Hyperparameters != "s3://bkt/best" || job.Inputs.BaseModel != trained.Data.(*events.ModelTrained).Model.URI {
		t.Errorf("inputs %+v", job.Inputs)
	}
}

func TestLatestIsFoundHoweverFarBackItIs(t *testing.T) {
	t.Parallel()
	for _, before := range []int{1, 1022, 1023, 1024, 1025} {
		bus, d := setup(t, alone)
		publish(t, bus, "sunday", "h1", hparams("s3://bkt/older"))
		publish(t, bus, "sunday", "h2", hparams("s3://bkt/best"))
		for i := range before {
			publish(t, bus, "between", fmt.Sprint(i), &events.ExamplesReady{Examples: []events.Examples{{URI: "s3://bkt/raw"}}})
		}
		publish(t, bus, "monday", "t", transform())
		for r := range bus.Read(t.Context(), events.Query{Run: "monday"}) {
			if err := d.Handle(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		if job := wantJobs(t, bus, "then", "monday")[0]; job.Inputs.Hyperparameters != "s3://bkt/best" {
			t.Errorf("%d events back: %q", before, job.Inputs.Hyperparameters)
		}
	}
}

func TestAWindowIsPinnedWhenTheRunIsComplete(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, "pipeline: penguin\nmodule: builtin:dnn\ntrainer: {wait_for: [examples], window: 2}\n")
	for span := range 4 {
		publish(t, bus, fmt.Sprint(span), "e", &events.ExamplesReady{Examples: []events.Examples{{URI: fmt.Sprintf("s3://bkt/%d", span), Span: int64(span)}}})
	}
	publish(t, bus, "late", "e", &events.ExamplesReady{Examples: []events.Examples{{URI: "s3://bkt/1-again", Span: 1, Version: 1}}})
	drain(t, d)
	want := [][]string{{"s3://bkt/0"}, {"s3://bkt/0", "s3://bkt/1"}, {"s3://bkt/1", "s3://bkt/2"}, {"s3://bkt/2", "s3://bkt/3"},
		{"s3://bkt/0", "s3://bkt/1-again"}}
	for i, job := range wantJobs(t, bus, "each", "0", "1", "2", "3", "late") {
		var got []string
		for _, examples := range job.Inputs.Examples {
			got = append(got, examples.URI)
		}
		if fmt.Sprint(got) != fmt.Sprint(want[i]) {
			t.Errorf("run %d: %v, want %v", i, got, want[i])
		}
	}
	again, err := d.PlanRetry(t.Context(), "penguin", "2", join.Retry{})
	if err != nil || again.Inputs.Examples[0].URI != "s3://bkt/1" || again.ID != joinOf(t, bus, "2").Current().Job {
		t.Errorf("made again it is %+v, %v", again.Inputs, err)
	}
}

func TestAForcedEventSaltsItsRunsJob(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, alone)
	forced := transform().(*events.TransformReady)
	forced.Force = true
	publish(t, bus, "monday", "t", transform())
	publish(t, bus, "tuesday", "t", forced)
	drain(t, d)
	got := wantJobs(t, bus, "both", "monday", "tuesday")
	if got[0].Salt != "" || got[1].Salt == "" {
		t.Errorf("salts %q and %q", got[0].Salt, got[1].Salt)
	}
}

// Several dispatchers handle events in another order than the log's, and one whose effect failed is
// handled last.
func TestTheOrderInWhichEventsAreHandledDoesNotMatter(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, alone)
	publish(t, bus, "monday", "h", hparams("s3://bkt/own"))
	publish(t, bus, "tuesday", "h", hparams("s3://bkt/other"))
	publish(t, bus, "monday", "t", transform())
	publish(t, bus, "monday", "t2", &events.TransformReady{TransformGraph: "s3://bkt/graph2"})
	var log []events.Recorded
	for r := range bus.Read(t.Context(), events.Query{}) {
		log = append(log, r)
	}
	for i := len(log) - 1; i >= 0; i-- {
		if err := d.Handle(t.Context(), log[i]); err != nil {
			t.Fatal(err)
		}
	}
	job := wantJobs(t, bus, "backwards", "monday")[0]
	if job.Inputs.Hyperparameters != "s3://bkt/own" || job.Inputs.TransformGraph != "s3://bkt/graph" {
		t.Errorf("inputs %+v", job.Inputs)
	}
}

// An event that was refused at first is not part of its run, unless it was handled again since.
func TestARefusedEventCountsOnceItIsHandledAgain(t *testing.T) {
	t.Parallel()
	for again, want := range map[bool]string{false: "s3://bkt/graph2", true: "s3://bkt/graph"} {
		bus := bustest.NewMemory(0)
		d, err := dispatch.New(t.Context(), bus, nil)
		if err != nil {
			t.Fatal(err)
		}
		arrive(t, bus, d, "monday") // refused, because the pipeline does not exist yet
		apply(t, bus, joined)
		if again {
			for r := range bus.Read(t.Context(), events.Query{Kinds: []events.Kind{events.KindTransformReady}}) {
				if err := d.Handle(t.Context(), r); err != nil {
					t.Fatal(err)
				}
			}
		}
		publish(t, bus, "monday", "t2", &events.TransformReady{TransformGraph: "s3://bkt/graph2"})
		publish(t, bus, "monday", "h", hparams("s3://bkt/hp"))
		drain(t, d)
		if job := wantJobs(t, bus, "then", "monday"); job[0].Inputs.TransformGraph != want {
			t.Errorf("handled again: %t; trained on %s", again, job[0].Inputs.TransformGraph)
		}
	}
}

func TestAJobCanBeMadeAgain(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, alone)
	arrive(t, bus, d, "monday")
	first := wantJobs(t, bus, "at first", "monday")[0]
	asked := join.Retry{Generation: 1, Salt: "request", Request: "replay-1"}
	planned, err := d.PlanRetry(t.Context(), "penguin", "monday", asked)
	if err != nil {
		t.Fatal(err)
	}
	wantJobs(t, bus, "only planned")
	for range 2 {
		if job, err := d.Retry(t.Context(), "penguin", "monday", events.FunctionTrain, asked); err != nil || job.ID != planned.ID {
			t.Fatalf("job %s, %v; planned was %s", job.ID, err, planned.ID)
		}
	}
	again := wantJobs(t, bus, "made again", "monday")[0]
	if again.ID == first.ID || again.Generation != 1 || again.Salt != "request" || again.Request != "replay-1" {
		t.Errorf("job %+v", again)
	}
	if j := joinOf(t, bus, "monday"); j.Current().Job != again.ID || j.State != join.Dispatched {
		t.Errorf("join %+v", j)
	}
}

func TestARunWithoutAJobCanNotBeDoneAgain(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, joined)
	arrive(t, bus, d, "waits", "ends")
	if _, err := dispatch.Cancel(t.Context(), bus, "penguin", "ends"); err != nil {
		t.Fatal(err)
	}
	for _, run := range []string{"waits", "ends", "unknown"} {
		if job, err := d.Retry(context.WithoutCancel(t.Context()), "penguin", run, events.FunctionTrain, join.Retry{}); err == nil {
			t.Errorf("run %s: job %s", run, job.ID)
		}
	}
	wantJobs(t, bus, "afterwards")
}

// counted counts the events that are read from the log.
type counted struct {
	*bustest.Memory
	read int
}

func (c *counted) Read(ctx context.Context, q events.Query) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		for r, err := range c.Memory.Read(ctx, q) {
			c.read++
			if !yield(r, err) {
				return
			}
		}
	}
}

func TestAWindowReadsWhatIsNewAndNotThePipelinesHistory(t *testing.T) {
	t.Parallel()
	memory, _ := setup(t, "pipeline: penguin\nmodule: builtin:dnn\ntrainer: {wait_for: [examples], window: 3, hyperparameters: none}\n")
	bus := &counted{Memory: memory}
	d, err := dispatch.New(t.Context(), bus, nil)
	if err != nil {
		t.Fatal(err)
	}
	most := 0
	for i := range 300 {
		publish(t, memory, fmt.Sprint("run", i), "e", &events.ExamplesReady{
			Examples: []events.Examples{{URI: fmt.Sprintf("s3://bkt/%d", i), Splits: []string{"train", "eval"}, Span: int64(i)}},
		})
		before := bus.read
		drain(t, d)
		most = max(most, bus.read-before)
		job := wantJobs(t, memory, "the newest", fmt.Sprint("run", i))[0]
		if got := job.Inputs.Examples; len(got) != min(i+1, 3) || got[len(got)-1].Span != int64(i) {
			t.Fatalf("run %d has the window %+v", i, got)
		}
	}
	if most > 10 {
		t.Errorf("%d events of the log were read for one run", most)
	}
}
