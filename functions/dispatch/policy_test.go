package dispatch_test

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/eventstest"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

const tuning = "pipeline: penguin\nmodule: builtin:dnn\ntuner: {when: never, on_failed: %s}\n"

// published returns the events of one type of a run, and their data.
func published[D events.Data](t *testing.T, box events.Letterbox, run string) (facts []events.Fact, all []D) {
	t.Helper()
	for r, err := range box.Read(t.Context(), events.Query{Pipeline: "penguin", Run: run}) {
		if err != nil {
			t.Fatal(err)
		}
		if data, ok := r.Fact.Data.(D); ok {
			facts, all = append(facts, r.Fact), append(all, data)
		}
	}
	return facts, all
}

func TestARunThatIsNotTunedGetsTheLastBestHyperparameters(t *testing.T) {
	t.Parallel()
	box, d := setup(t, fmt.Sprintf(tuning, "fail"))
	score := 0.9
	publish(t, box, "sunday", "h0", hparams("s3://bkt/older"))
	publish(t, box, "sunday", "h1", &events.HParamsReady{
		Hyperparameters: "s3://bkt/best", Values: map[string]any{"units": 8.0}, Score: &score, Objective: "accuracy", Study: "s",
		Request: events.Request{Force: true},
	})
	publish(t, box, "monday", "t", transform())
	publish(t, box, "tuesday", "h2", hparams("s3://bkt/later"))
	publish(t, box, "monday", "e", &events.ExamplesReady{Examples: []events.Examples{{URI: "s3://bkt/raw"}}})
	drain(t, d)
	facts, all := published[*events.HParamsReady](t, box, "monday")
	if len(all) != 1 {
		t.Fatalf("published %d times, want once", len(all))
	}
	got := all[0]
	if !got.Reused || got.Hyperparameters != "s3://bkt/best" || *got.Score != score || got.Objective != "accuracy" || got.Study != "s" ||
		got.Values["units"] != 8.0 || got.Force || facts[0].Causation != "t" {
		t.Errorf("published %+v because of %s", got, facts[0].Causation)
	}
	if job := wantJobs(t, box, "then", "monday"); job[0].Inputs.Hyperparameters != "s3://bkt/best" || job[0].Salt != "" {
		t.Errorf("job %+v", job[0].Inputs)
	}
}

func TestARunThatBringsItsOwnHyperparametersGetsNoOthers(t *testing.T) {
	t.Parallel()
	box, d := setup(t, fmt.Sprintf(tuning, "latest"))
	publish(t, box, "sunday", "h", hparams("s3://bkt/best"))
	publish(t, box, "monday", "h", hparams("s3://bkt/own"))
	publish(t, box, "monday", "t", transform())
	drain(t, d)
	if job := wantJobs(t, box, "then", "monday"); job[0].Inputs.Hyperparameters != "s3://bkt/own" {
		t.Errorf("job %+v", job[0].Inputs)
	}
	if _, all := published[*events.HParamsReady](t, box, "monday"); len(all) != 1 {
		t.Errorf("published %d times", len(all))
	}
}

func TestARunWithNothingToReuseEnds(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string]string{
		"latest": "incomplete: tuning failed: tuning is skipped, and the pipeline has no earlier hyperparameters to reuse; the pipeline has no earlier hyperparameters to go on with",
		"fail":   "incomplete: tuning failed: tuning is skipped, and the pipeline has no earlier hyperparameters to reuse; the pipeline's tuner.on_failed is fail",
	} {
		box, d := setup(t, fmt.Sprintf(tuning, policy))
		publish(t, box, "monday", "t", transform())
		drain(t, d)
		if _, all := published[*events.TuningFailed](t, box, "monday"); len(all) != 1 || all[0].Reason != events.FailureIncomplete {
			t.Errorf("%s: tuning failed %d times", policy, len(all))
		}
		if got := called(t, box, "monday"); got != want {
			t.Errorf("%s: failed with %q, want %q", policy, got, want)
		}
		publish(t, box, "monday", "h", hparams("s3://bkt/late"))
		drain(t, d)
		wantJobs(t, box, policy)
	}
}

func TestARunWhoseTuningFailedUsesTheLastBest(t *testing.T) {
	t.Parallel()
	box, d := setup(t, fmt.Sprintf(tuning, "latest"))
	publish(t, box, "monday", "f", &events.TuningFailed{Failed: events.Failed{Reason: events.FailureModule, Message: "boom"}})
	publish(t, box, "sunday", "h", hparams("s3://bkt/best"))
	publish(t, box, "monday", "t", transform())
	publish(t, box, "tuesday", "h", hparams("s3://bkt/later"))
	drain(t, d)
	if job := wantJobs(t, box, "then", "monday"); job[0].Inputs.Hyperparameters != "s3://bkt/best" {
		t.Errorf("job %+v", job[0].Inputs)
	}
}

func TestLatestIgnoresMessagesThatAreNoEvents(t *testing.T) {
	t.Parallel()
	box, d := setup(t, "pipeline: penguin\nmodule: ./m\ntrainer: {hyperparameters: latest, base_model: latest}\n")
	arrive(t, box, d, "sunday")
	trained := outcomeOf(wantJobs(t, box, "at first", "sunday")[0])
	if _, err := box.Publish(t.Context(), trained); err != nil {
		t.Fatal(err)
	}
	publish(t, box, "sunday", "h", hparams("s3://bkt/best"))
	publish(t, box, "sunday", "refused", &events.HParamsReady{
		Hyperparameters: "s3://bkt/refused", Request: events.Request{PipelineSpec: []byte("{}")},
	})
	for _, subject := range []string{"facts.hparams-ready.penguin.sunday.x", "facts.model-trained.penguin.sunday.x", "facts.transform-ready.penguin.monday.x"} {
		if err := box.Inject(t.Context(), subject, nil, []byte(`{"specversion":"1.0"}`)); err != nil {
			t.Fatal(err)
		}
	}
	publish(t, box, "monday", "t", transform())
	drain(t, d)
	job := wantJobs(t, box, "then", "monday")[0]
	if job.Inputs.Hyperparameters != "s3://bkt/best" || job.Inputs.BaseModel != trained.Data.(*events.ModelTrained).Model.URI {
		t.Errorf("inputs %+v", job.Inputs)
	}
}

func TestLatestIsFoundHoweverFarBackItIs(t *testing.T) {
	t.Parallel()
	for _, before := range []int{1, 1022, 1023, 1024, 1025} {
		box, d := setup(t, alone)
		publish(t, box, "sunday", "h1", hparams("s3://bkt/older"))
		publish(t, box, "sunday", "h2", hparams("s3://bkt/best"))
		for i := range before {
			publish(t, box, "between", fmt.Sprint(i), &events.ExamplesReady{Examples: []events.Examples{{URI: "s3://bkt/raw"}}})
		}
		publish(t, box, "monday", "t", transform())
		for r := range box.Read(t.Context(), events.Query{Run: "monday"}) {
			if err := d.Handle(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		if job := wantJobs(t, box, "then", "monday")[0]; job.Inputs.Hyperparameters != "s3://bkt/best" {
			t.Errorf("%d events back: %q", before, job.Inputs.Hyperparameters)
		}
	}
}

func TestAWindowIsPinnedWhenTheRunIsComplete(t *testing.T) {
	t.Parallel()
	box, d := setup(t, "pipeline: penguin\nmodule: builtin:dnn\ntrainer: {wait_for: [examples], window: 2}\n")
	for span := range 4 {
		publish(t, box, fmt.Sprint(span), "e", &events.ExamplesReady{Examples: []events.Examples{{URI: fmt.Sprintf("s3://bkt/%d", span), Span: int64(span)}}})
	}
	publish(t, box, "late", "e", &events.ExamplesReady{Examples: []events.Examples{{URI: "s3://bkt/1-again", Span: 1, Version: 1}}})
	drain(t, d)
	want := [][]string{{"s3://bkt/0"}, {"s3://bkt/0", "s3://bkt/1"}, {"s3://bkt/1", "s3://bkt/2"}, {"s3://bkt/2", "s3://bkt/3"},
		{"s3://bkt/0", "s3://bkt/1-again"}}
	for i, job := range wantJobs(t, box, "each", "0", "1", "2", "3", "late") {
		var got []string
		for _, examples := range job.Inputs.Examples {
			got = append(got, examples.URI)
		}
		if fmt.Sprint(got) != fmt.Sprint(want[i]) {
			t.Errorf("run %d: %v, want %v", i, got, want[i])
		}
	}
	again, err := d.PlanRetry(t.Context(), "penguin", "2", join.Retry{})
	if err != nil || again.Inputs.Examples[0].URI != "s3://bkt/1" || again.ID != joinOf(t, box, "2").Current().Job {
		t.Errorf("made again it is %+v, %v", again.Inputs, err)
	}
}

func TestAForcedEventSaltsItsRunsJob(t *testing.T) {
	t.Parallel()
	box, d := setup(t, alone)
	forced := transform().(*events.TransformReady)
	forced.Force = true
	publish(t, box, "monday", "t", transform())
	publish(t, box, "tuesday", "t", forced)
	drain(t, d)
	got := wantJobs(t, box, "both", "monday", "tuesday")
	if got[0].Salt != "" || got[1].Salt == "" {
		t.Errorf("salts %q and %q", got[0].Salt, got[1].Salt)
	}
}

// Several dispatchers handle events out of the log's order, and one whose effect failed comes last.
func TestTheOrderInWhichEventsAreHandledDoesNotMatter(t *testing.T) {
	t.Parallel()
	box, d := setup(t, alone)
	publish(t, box, "monday", "h", hparams("s3://bkt/own"))
	publish(t, box, "tuesday", "h", hparams("s3://bkt/other"))
	publish(t, box, "monday", "t", transform())
	publish(t, box, "monday", "t2", &events.TransformReady{TransformGraph: "s3://bkt/graph2"})
	var log []events.Recorded
	for r := range box.Read(t.Context(), events.Query{}) {
		log = append(log, r)
	}
	for i := len(log) - 1; i >= 0; i-- {
		if err := d.Handle(t.Context(), log[i]); err != nil {
			t.Fatal(err)
		}
	}
	job := wantJobs(t, box, "backwards", "monday")[0]
	if job.Inputs.Hyperparameters != "s3://bkt/own" || job.Inputs.TransformGraph != "s3://bkt/graph" {
		t.Errorf("inputs %+v", job.Inputs)
	}
}

// An event that was refused when it came is no part of its run, unless it was handled again since.
func TestARefusedEventCountsOnceItIsHandledAgain(t *testing.T) {
	t.Parallel()
	for again, want := range map[bool]string{false: "s3://bkt/graph2", true: "s3://bkt/graph"} {
		box := eventstest.NewMemory(0)
		d, err := dispatch.New(t.Context(), box, nil)
		if err != nil {
			t.Fatal(err)
		}
		arrive(t, box, d, "monday") // and is refused: there is no such pipeline yet
		apply(t, box, joined)
		if again {
			for r := range box.Read(t.Context(), events.Query{Kinds: []events.Kind{events.KindTransformReady}}) {
				if err := d.Handle(t.Context(), r); err != nil {
					t.Fatal(err)
				}
			}
		}
		publish(t, box, "monday", "t2", &events.TransformReady{TransformGraph: "s3://bkt/graph2"})
		publish(t, box, "monday", "h", hparams("s3://bkt/hp"))
		drain(t, d)
		if job := wantJobs(t, box, "then", "monday"); job[0].Inputs.TransformGraph != want {
			t.Errorf("handled again: %t; trained on %s", again, job[0].Inputs.TransformGraph)
		}
	}
}

func TestAJobCanBeMadeAgain(t *testing.T) {
	t.Parallel()
	box, d := setup(t, alone)
	arrive(t, box, d, "monday")
	first := wantJobs(t, box, "at first", "monday")[0]
	asked := join.Retry{Generation: 1, Salt: "request", Request: "replay-1"}
	planned, err := d.PlanRetry(t.Context(), "penguin", "monday", asked)
	if err != nil {
		t.Fatal(err)
	}
	wantJobs(t, box, "only planned")
	for range 2 {
		if job, err := d.Retry(t.Context(), "penguin", "monday", events.FunctionTrain, asked); err != nil || job.ID != planned.ID {
			t.Fatalf("job %s, %v; planned was %s", job.ID, err, planned.ID)
		}
	}
	again := wantJobs(t, box, "made again", "monday")[0]
	if again.ID == first.ID || again.Generation != 1 || again.Salt != "request" || again.Request != "replay-1" {
		t.Errorf("job %+v", again)
	}
	if j := joinOf(t, box, "monday"); j.Current().Job != again.ID || j.State != join.Dispatched {
		t.Errorf("join %+v", j)
	}
}

func TestARunWithoutAJobCanNotBeDoneAgain(t *testing.T) {
	t.Parallel()
	box, d := setup(t, joined)
	arrive(t, box, d, "waits", "ends")
	if _, err := dispatch.Cancel(t.Context(), box, "penguin", "ends"); err != nil {
		t.Fatal(err)
	}
	for _, run := range []string{"waits", "ends", "unknown"} {
		if job, err := d.Retry(context.WithoutCancel(t.Context()), "penguin", run, events.FunctionTrain, join.Retry{}); err == nil {
			t.Errorf("run %s: job %s", run, job.ID)
		}
	}
	wantJobs(t, box, "afterwards")
}

// counted counts the events that are read from the log.
type counted struct {
	*eventstest.Memory
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
	box := &counted{Memory: memory}
	d, err := dispatch.New(t.Context(), box, nil)
	if err != nil {
		t.Fatal(err)
	}
	most := 0
	for i := range 300 {
		publish(t, memory, fmt.Sprint("run", i), "e", &events.ExamplesReady{
			Examples: []events.Examples{{URI: fmt.Sprintf("s3://bkt/%d", i), Splits: []string{"train", "eval"}, Span: int64(i)}},
		})
		before := box.read
		drain(t, d)
		most = max(most, box.read-before)
		job := wantJobs(t, memory, "the newest", fmt.Sprint("run", i))[0]
		if got := job.Inputs.Examples; len(got) != min(i+1, 3) || got[len(got)-1].Span != int64(i) {
			t.Fatalf("run %d has the window %+v", i, got)
		}
	}
	if most > 10 {
		t.Errorf("%d events of the log were read for one run", most)
	}
}
