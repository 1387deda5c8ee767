package dispatch_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

// tunes is a pipeline that tunes each run; tests append more keys.
const tunes = `
pipeline: penguin
module: ./penguin_utils.py
trainer: {wait_for: [transform, hparams], expire_after: 2h, window: 2}
tuner: {when: always, on_failed: fail, resources: {class: gpu}}
`

// tuneJobs takes the tune jobs off their queue, and says which a worker would find cancelled.
func tuneJobs(t *testing.T, box events.Letterbox) (all []events.Job, cancelled []bool) {
	t.Helper()
	for {
		claim, err := box.Take(t.Context(), events.FunctionTune, []string{"gpu"}, 0)
		if errors.Is(err, events.ErrEmpty) {
			return all, cancelled
		}
		if err != nil {
			t.Fatal(err)
		}
		job, err := claim.Job()
		if err = errors.Join(err, claim.Done(t.Context())); err != nil {
			t.Fatal(err)
		}
		all, cancelled = append(all, job), append(cancelled, claim.Attempt().Cancelled)
	}
}

// tuneJob returns the only tune job.
func tuneJob(t *testing.T, box events.Letterbox) events.Job {
	t.Helper()
	all, _ := tuneJobs(t, box)
	if len(all) != 1 {
		t.Fatalf("%d tune jobs: %q", len(all), runsOf(all))
	}
	return all[0]
}

// found publishes the result of a tune job.
func found(t *testing.T, box events.Letterbox, d *dispatch.Dispatcher, job events.Job) {
	t.Helper()
	fact := events.NewHParamsFound(job, &events.HParamsReady{Hyperparameters: "s3://bkt/found", Execution: "sha256:" + job.ID}, time.Unix(9, 0))
	if _, err := box.Publish(t.Context(), fact); err != nil {
		t.Fatal(err)
	}
	drain(t, d)
}

func TestARunIsTunedAndTrainedWithTheResult(t *testing.T) {
	t.Parallel()
	box, d := setup(t, tunes)
	publish(t, box, "sunday", "s", transform())
	arrive(t, box, d, "monday")
	all, _ := tuneJobs(t, box)
	if len(all) != 2 || all[0].Run != "sunday" {
		t.Fatalf("tunes %q", runsOf(all))
	}
	job := all[1]
	if in := job.Inputs; job.Function != events.FunctionTune || job.Class != "gpu" || job.Revision != 1 || len(job.Causes) != 1 ||
		in.TransformGraph != "s3://bkt/graph" || len(in.TransformedExamples) != 1 || in.Hyperparameters+in.BaseModel != "" {
		t.Errorf("tunes by %+v", job)
	}
	wantJobs(t, box, "not tuned yet")
	found(t, box, d, job)
	trains := wantJobs(t, box, "tuned", "monday")
	if trains[0].Inputs.Hyperparameters != "s3://bkt/found" || trains[0].ID == job.ID {
		t.Errorf("trains with %+v", trains[0].Inputs)
	}
	if again, _ := tuneJobs(t, box); len(again) != 0 {
		t.Errorf("tuned again: %q", runsOf(again))
	}
}

func TestTheInputsOfATuneJobArePinned(t *testing.T) {
	t.Parallel()
	box, d := setup(t, tunes)
	arrive(t, box, d, "monday")
	first := tuneJob(t, box)
	apply(t, box, tunes+"concurrency: 7\n")
	publish(t, box, "monday", "e", &events.ExamplesReady{Examples: []events.Examples{{URI: "s3://bkt/raw"}}})
	publish(t, box, "monday", "u", &events.TransformReady{TransformGraph: "s3://bkt/another"})
	drain(t, d) // the first of these enqueues the job again
	again, _ := tuneJobs(t, box)
	for _, job := range again {
		if job.ID != first.ID || job.Revision != 1 {
			t.Errorf("tuned by %+v, it was %+v", job, first)
		}
	}
	if len(again) == 0 {
		t.Error("an event of a run whose job is gone does not bring it back")
	}
}

func TestARunThatHasHyperparametersIsNotTuned(t *testing.T) {
	t.Parallel()
	box, d := setup(t, tunes)
	publish(t, box, "monday", "h", hparams("s3://bkt/hp"))
	arrive(t, box, d, "monday")
	if all, _ := tuneJobs(t, box); len(all) != 0 {
		t.Errorf("tuned all the same: %q", runsOf(all))
	}
	wantJobs(t, box, "with hyperparameters", "monday")
	if j := joinOf(t, box, "monday"); j.Stage(events.FunctionTune).Exists() {
		t.Errorf("tuned: %+v", j.Stages)
	}
}

func TestASearchThatItsRunNoLongerNeedsIsCancelled(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*testing.T, events.Letterbox, *dispatch.Dispatcher){
		"hyperparameters come from elsewhere": func(t *testing.T, box events.Letterbox, d *dispatch.Dispatcher) {
			publish(t, box, "monday", "h", hparams("s3://bkt/hp"))
			drain(t, d)
			wantJobs(t, box, "with hyperparameters", "monday")
		},
		"another source publishes that tuning failed": func(t *testing.T, box events.Letterbox, d *dispatch.Dispatcher) {
			publish(t, box, "monday", "f", &events.TuningFailed{Failed: events.Failed{Reason: events.FailureModule, Message: "boom"}})
			drain(t, d)
		},
		"the run is cancelled": func(t *testing.T, box events.Letterbox, _ *dispatch.Dispatcher) {
			if done, err := dispatch.Cancel(t.Context(), box, "penguin", "monday"); err != nil || done.Job != "" {
				t.Errorf("%+v, %v", done, err)
			}
			if published := failures(t, box, "monday"); len(published) != 1 {
				t.Errorf("published %+v", published)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			box, d := setup(t, tunes)
			arrive(t, box, d, "monday")
			end(t, box, d)
			if all, cancelled := tuneJobs(t, box); len(all) != 1 || !cancelled[0] {
				t.Errorf("jobs of %q, cancelled %v", runsOf(all), cancelled)
			}
		})
	}
}

// A dispatcher dies between ending a run and cancelling the tune job, which another had enqueued
// without a mark.
func TestASweepCancelsTheSearchOfAnEndedRun(t *testing.T) {
	t.Parallel()
	box, d := setup(t, tunes)
	arrive(t, box, d, "monday")
	ended := joinOf(t, box, "monday").End(events.FailureCancelled, "cancelled", time.Unix(3, 0)).Dispatch(events.FunctionTune, "", join.Retry{})
	put(t, box, ended)
	sweep(t, d)
	if all, cancelled := tuneJobs(t, box); len(all) != 1 || !cancelled[0] {
		t.Errorf("jobs of %q, cancelled %v", runsOf(all), cancelled)
	}
	if j := joinOf(t, box, "monday"); !j.Ending.Announced {
		t.Error("the end was not announced")
	}
}

func TestATunedRunStaysAdmittedUntilItIsTrained(t *testing.T) {
	t.Parallel()
	box, d := setup(t, tunes+"concurrency: {runs: 1, newest: supersede}\n")
	arrive(t, box, d, "a", "b", "c")
	job := tuneJob(t, box)
	if published := failures(t, box, "b"); job.Run != "a" || len(published) != 1 || published[0].Data.(*events.TrainingFailed).Message != "superseded by run c" {
		t.Fatalf("tuned %s, b failed with %+v", job.Run, published)
	}
	found(t, box, d, job)
	if early, _ := tuneJobs(t, box); len(early) != 0 {
		t.Fatalf("tuned at the same time: %q", runsOf(early))
	}
	finish(t, box, d, wantJobs(t, box, "a is tuned", "a")[0])
	if job = tuneJob(t, box); job.Run != "c" {
		t.Errorf("tuned next: %s", job.Run)
	}
}

func TestAPausedPipelineTunesNoRun(t *testing.T) {
	t.Parallel()
	box, d := setup(t, tunes)
	if err := dispatch.Pause(t.Context(), box, "penguin"); err != nil {
		t.Fatal(err)
	}
	arrive(t, box, d, "monday")
	sweep(t, d)
	if early, _ := tuneJobs(t, box); len(early) != 0 {
		t.Fatal("tuned while paused")
	}
	if err := dispatch.Resume(t.Context(), box, "penguin"); err != nil {
		t.Fatal(err)
	}
	found(t, box, d, tuneJob(t, box))
	wantJobs(t, box, "resumed", "monday")
}

func TestASearchMayTakeLongerThanARunWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		box, d := setup(t, tunes)
		arrive(t, box, d, "monday")
		first := tuneJob(t, box) // the bus has lost it
		for range 3 {
			time.Sleep(missed)
			sweep(t, d)
			if again := tuneJob(t, box); again.ID != first.ID {
				t.Errorf("job %s, it was %s", again.ID, first.ID)
			}
			sweep(t, d)
			if again, _ := tuneJobs(t, box); len(again) != 0 {
				t.Error("checked before")
			}
		}
		time.Sleep(9 * time.Hour)
		sweep(t, d)
		if published := failures(t, box, "monday"); len(published) != 0 {
			t.Errorf("published %+v", published)
		}
		found(t, box, d, first)
		wantJobs(t, box, "at last", "monday")
	})
}

func TestATunedRunWithADamagedJoinIsStillTuned(t *testing.T) {
	t.Parallel()
	for name, damage := range damages {
		box, d := setup(t, tunes)
		arrive(t, box, d, "monday")
		first := tuneJob(t, box)
		spoil(t, box, "monday", damage)
		sweep(t, d)
		sweep(t, d)
		if again := tuneJob(t, box); again.ID != first.ID {
			t.Errorf("%s: job %s, it was %s", name, again.ID, first.ID)
		}
		spoil(t, box, "monday", damage)
		found(t, box, d, first)
		wantJobs(t, box, name, "monday")
	}
}

func TestAPipelineThatBeginsToTuneTunesWaitingRuns(t *testing.T) {
	t.Parallel()
	const waits = "pipeline: penguin\nmodule: ./m.py\ntrainer: {hyperparameters: run}\n"
	box, d := setup(t, waits)
	arrive(t, box, d, "monday")
	apply(t, box, waits+"tuner: {when: always, resources: {class: gpu}}\n")
	sweep(t, d)
	sweep(t, d)
	if job := tuneJob(t, box); job.Run != "monday" || job.Revision != 2 {
		t.Errorf("tunes by %+v", job)
	}
}

func TestTheWindowOfATuningIsTheTrainers(t *testing.T) {
	t.Parallel()
	box, d := setup(t, tunes)
	for i := range 3 {
		publish(t, box, fmt.Sprint("run ", i), fmt.Sprint(i), &events.TransformReady{TransformGraph: "s3://bkt/graph",
			TransformedExamples: []events.Examples{{URI: fmt.Sprintf("s3://bkt/tx-%d", i), Span: int64(i)}}})
	}
	drain(t, d)
	all, _ := tuneJobs(t, box)
	if len(all) != 3 {
		t.Fatalf("%d tune jobs", len(all))
	}
	if got := all[2].Inputs.TransformedExamples; len(got) != 2 || got[0].Span != 1 || got[1].Span != 2 {
		t.Errorf("tuned on %+v", got)
	}
}

func TestARunWhoseTuneJobIsImpossibleEnds(t *testing.T) {
	t.Parallel()
	box, d := setup(t, tunes)
	arrive(t, box, d, "monday")
	tuneJob(t, box)
	lost := joinOf(t, box, "monday")
	lost.Stages[0].Revision = 99
	lost = lost.Dispatch(events.FunctionTune, "", join.Retry{})
	put(t, box, lost)
	sweep(t, d)
	if j := joinOf(t, box, "monday"); j.State != join.Ended || j.Ending.Kind != events.FailureInput || !j.Ending.Announced {
		t.Errorf("%+v", j)
	}
}

// put writes a join over the one that is there.
func put(t *testing.T, box events.Letterbox, j join.Join) {
	t.Helper()
	joins, err := box.Register(t.Context(), events.RegisterJoins)
	if err != nil {
		t.Fatal(err)
	}
	key := dispatch.JoinKey(j.Pipeline, j.Run)
	entry, err := joins.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := joins.Update(t.Context(), key, marshal(t, j), entry.Revision); err != nil {
		t.Fatal(err)
	}
}

func marshal(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Another dispatcher has handled the later event already.
func TestARunThatGotHyperparametersMeanwhileIsNotTuned(t *testing.T) {
	t.Parallel()
	box, d := setup(t, tunes)
	publish(t, box, "monday", "t", transform())
	publish(t, box, "monday", "h", hparams("s3://bkt/hp"))
	var log []events.Recorded
	for recorded, err := range box.Read(t.Context(), events.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		log = append(log, recorded)
	}
	for _, recorded := range slices.Backward(log) {
		if err := d.Handle(t.Context(), recorded); err != nil {
			t.Fatal(err)
		}
	}
	if all, _ := tuneJobs(t, box); len(all) != 0 || joinOf(t, box, "monday").Stage(events.FunctionTune).Exists() {
		t.Errorf("tuned by %q: %+v", runsOf(all), joinOf(t, box, "monday").Stages)
	}
	wantJobs(t, box, "with hyperparameters", "monday")
}

func TestALostTuneJobOfAnAdmittedRunIsEnqueuedAtOnce(t *testing.T) {
	t.Parallel()
	box, d := setup(t, tunes+"concurrency: 1\n")
	arrive(t, box, d, "a", "b")
	first := tuneJob(t, box) // it vanishes from the queue
	sweep(t, d)
	if again := tuneJob(t, box); again.ID != first.ID {
		t.Errorf("job of %s, it was of %s", again.Run, first.Run)
	}
}

// The hyperparameters that a search may reuse are looked up once, when it is due, and stay,
// whatever is published afterwards.
func TestATuneJobThatMayReuseNamesTheLastHyperparametersBeforeIt(t *testing.T) {
	t.Parallel()
	for name, tuner := range map[string]string{
		"changed":     "{when: changed, resources: {class: gpu}}",
		"every":       "{when: {every: 7d}, resources: {class: gpu}}",
		"from latest": "{when: always, resources: {class: gpu}, study: {from: latest}}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			box, d := setup(t, "pipeline: penguin\nmodule: ./penguin_utils.py\ntuner: "+tuner+"\n")
			arrive(t, box, d, "saturday")
			if first := tuneJob(t, box); first.Inputs.Hyperparameters != "" {
				t.Errorf("the first search of a pipeline may reuse %s", first.Inputs.Hyperparameters)
			} else {
				found(t, box, d, first)
			}
			arrive(t, box, d, "sunday")
			second := tuneJob(t, box)
			publish(t, box, "another", "h", hparams("s3://bkt/later"))
			publish(t, box, "sunday", "e", &events.ExamplesReady{Examples: []events.Examples{{URI: "s3://bkt/raw"}}})
			drain(t, d) // which enqueues the job again
			again, _ := tuneJobs(t, box)
			for _, job := range append(again, second) {
				if job.ID != second.ID || job.Inputs.Hyperparameters != "s3://bkt/found" {
					t.Errorf("%s may reuse %s; it was %s with s3://bkt/found", job.ID, job.Inputs.Hyperparameters, second.ID)
				}
			}
			if len(again) == 0 {
				t.Error("the job was not made again: the test shows nothing")
			}
		})
	}
}

// A tune job that reuses has published the result of the run's own tuning: no dispatcher cancels
// it, and the run trains with it.
func TestARunTrainsWithWhatItsTuneJobReuses(t *testing.T) {
	t.Parallel()
	box, d := setup(t, "pipeline: penguin\nmodule: ./penguin_utils.py\ntuner: {when: changed, resources: {class: gpu}}\n")
	publish(t, box, "saturday", "h", hparams("s3://bkt/first"))
	arrive(t, box, d, "sunday")
	job := tuneJob(t, box)
	reused := events.NewHParamsFound(job, &events.HParamsReady{Hyperparameters: job.Inputs.Hyperparameters, Execution: "sha256:" + job.ID, Reused: true}, time.Unix(9, 0))
	if _, err := box.Publish(t.Context(), reused); err != nil {
		t.Fatal(err)
	}
	drain(t, d)
	if trains := wantJobs(t, box, "reused", "sunday"); trains[0].Inputs.Hyperparameters != "s3://bkt/first" {
		t.Errorf("trains with %+v", trains[0].Inputs)
	}
	if all, _ := tuneJobs(t, box); len(all) != 0 {
		t.Errorf("tuned again: %q", runsOf(all))
	}
	if j := joinOf(t, box, "sunday"); !j.SearchAnnounced() {
		t.Errorf("another source published it: %+v", j.Events)
	}
}
