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

// tuneJobs takes the tune jobs off their queue, and returns which of them a worker would find
// cancelled.
func tuneJobs(t *testing.T, bus events.Bus) (all []events.Job, cancelled []bool) {
	t.Helper()
	for {
		claim, err := bus.Claim(t.Context(), events.FunctionTune, []string{"gpu"}, 0)
		if errors.Is(err, events.ErrEmpty) {
			return all, cancelled
		}
		if err != nil {
			t.Fatal(err)
		}
		job, err := claim.Job()
		if err = errors.Join(err, claim.Ack(t.Context())); err != nil {
			t.Fatal(err)
		}
		all, cancelled = append(all, job), append(cancelled, claim.Attempt().Cancelled)
	}
}

// tuneJob returns the only tune job.
func tuneJob(t *testing.T, bus events.Bus) events.Job {
	t.Helper()
	all, _ := tuneJobs(t, bus)
	if len(all) != 1 {
		t.Fatalf("%d tune jobs: %q", len(all), runsOf(all))
	}
	return all[0]
}

// found publishes the result of a tune job.
func found(t *testing.T, bus events.Bus, d *dispatch.Dispatcher, job events.Job) {
	t.Helper()
	event := events.NewHParamsFound(job, &events.HParamsReady{Hyperparameters: "s3://bkt/found", Execution: "sha256:" + job.ID}, time.Unix(9, 0))
	if _, err := bus.Publish(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	drain(t, d)
}

func TestARunIsTunedAndTrainedWithTheResult(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, tunes)
	publish(t, bus, "sunday", "s", transform())
	arrive(t, bus, d, "monday")
	all, _ := tuneJobs(t, bus)
	if len(all) != 2 || all[0].Run != "sunday" {
		t.Fatalf("tunes %q", runsOf(all))
	}
	job := all[1]
	if in := job.Inputs; job.Function != events.FunctionTune || job.Class != "gpu" || job.Revision != 1 || len(job.Causes) != 1 ||
		in.TransformGraph != "s3://bkt/graph" || len(in.TransformedExamples) != 1 || in.Hyperparameters+in.BaseModel != "" {
		t.Errorf("tunes by %+v", job)
	}
	wantJobs(t, bus, "not tuned yet")
	found(t, bus, d, job)
	trains := wantJobs(t, bus, "tuned", "monday")
	if trains[0].Inputs.Hyperparameters != "s3://bkt/found" || trains[0].ID == job.ID {
		t.Errorf("trains with %+v", trains[0].Inputs)
	}
	if again, _ := tuneJobs(t, bus); len(again) != 0 {
		t.Errorf("tuned again: %q", runsOf(again))
	}
}

func TestTheInputsOfATuneJobArePinned(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, tunes)
	arrive(t, bus, d, "monday")
	first := tuneJob(t, bus)
	apply(t, bus, tunes+"concurrency: 7\n")
	publish(t, bus, "monday", "e", &events.ExamplesReady{Examples: []events.Examples{{URI: "s3://bkt/raw"}}})
	publish(t, bus, "monday", "u", &events.TransformReady{TransformGraph: "s3://bkt/another"})
	drain(t, d) // the first of these enqueues the job again
	again, _ := tuneJobs(t, bus)
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
	bus, d := setup(t, tunes)
	publish(t, bus, "monday", "h", hparams("s3://bkt/hp"))
	arrive(t, bus, d, "monday")
	if all, _ := tuneJobs(t, bus); len(all) != 0 {
		t.Errorf("tuned all the same: %q", runsOf(all))
	}
	wantJobs(t, bus, "with hyperparameters", "monday")
	if j := joinOf(t, bus, "monday"); j.Stage(events.FunctionTune).Exists() {
		t.Errorf("tuned: %+v", j.Stages)
	}
}

func TestASearchThatItsRunNoLongerNeedsIsCancelled(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*testing.T, events.Bus, *dispatch.Dispatcher){
		"hyperparameters come from elsewhere": func(t *testing.T, bus events.Bus, d *dispatch.Dispatcher) {
			publish(t, bus, "monday", "h", hparams("s3://bkt/hp"))
			drain(t, d)
			wantJobs(t, bus, "with hyperparameters", "monday")
		},
		"another source publishes that tuning failed": func(t *testing.T, bus events.Bus, d *dispatch.Dispatcher) {
			publish(t, bus, "monday", "f", &events.TuningFailed{Failed: events.Failed{Reason: events.FailureModule, Message: "boom"}})
			drain(t, d)
		},
		"the run is cancelled": func(t *testing.T, bus events.Bus, _ *dispatch.Dispatcher) {
			if done, err := dispatch.Cancel(t.Context(), bus, "penguin", "monday"); err != nil || done.Job != "" {
				t.Errorf("%+v, %v", done, err)
			}
			if published := failures(t, bus, "monday"); len(published) != 1 {
				t.Errorf("published %+v", published)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bus, d := setup(t, tunes)
			arrive(t, bus, d, "monday")
			end(t, bus, d)
			if all, cancelled := tuneJobs(t, bus); len(all) != 1 || !cancelled[0] {
				t.Errorf("jobs of %q, cancelled %v", runsOf(all), cancelled)
			}
		})
	}
}

// A dispatcher dies between ending a run and cancelling the tune job, which another had enqueued
// without a mark.
func TestASweepCancelsTheSearchOfAnEndedRun(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, tunes)
	arrive(t, bus, d, "monday")
	ended := joinOf(t, bus, "monday").End(events.FailureCancelled, "cancelled", time.Unix(3, 0)).Dispatch(events.FunctionTune, "", join.Retry{})
	put(t, bus, ended)
	sweep(t, d)
	if all, cancelled := tuneJobs(t, bus); len(all) != 1 || !cancelled[0] {
		t.Errorf("jobs of %q, cancelled %v", runsOf(all), cancelled)
	}
	if j := joinOf(t, bus, "monday"); !j.Ending.Announced {
		t.Error("the end was not announced")
	}
}

func TestATunedRunStaysAdmittedUntilItIsTrained(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, tunes+"concurrency: {runs: 1, newest: supersede}\n")
	arrive(t, bus, d, "a", "b", "c")
	job := tuneJob(t, bus)
	if published := failures(t, bus, "b"); job.Run != "a" || len(published) != 1 || published[0].Data.(*events.TrainingFailed).Message != "superseded by run c" {
		t.Fatalf("tuned %s, b failed with %+v", job.Run, published)
	}
	found(t, bus, d, job)
	if early, _ := tuneJobs(t, bus); len(early) != 0 {
		t.Fatalf("tuned at the same time: %q", runsOf(early))
	}
	finish(t, bus, d, wantJobs(t, bus, "a is tuned", "a")[0])
	if job = tuneJob(t, bus); job.Run != "c" {
		t.Errorf("tuned next: %s", job.Run)
	}
}

func TestAPausedPipelineTunesNoRun(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, tunes)
	if err := dispatch.Pause(t.Context(), bus, "penguin"); err != nil {
		t.Fatal(err)
	}
	arrive(t, bus, d, "monday")
	sweep(t, d)
	if early, _ := tuneJobs(t, bus); len(early) != 0 {
		t.Fatal("tuned while paused")
	}
	if err := dispatch.Resume(t.Context(), bus, "penguin"); err != nil {
		t.Fatal(err)
	}
	found(t, bus, d, tuneJob(t, bus))
	wantJobs(t, bus, "resumed", "monday")
}

func TestASearchMayTakeLongerThanARunWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bus, d := setup(t, tunes)
		arrive(t, bus, d, "monday")
		first := tuneJob(t, bus) // the bus has lost it
		for range 3 {
			time.Sleep(missed)
			sweep(t, d)
			if again := tuneJob(t, bus); again.ID != first.ID {
				t.Errorf("job %s, it was %s", again.ID, first.ID)
			}
			sweep(t, d)
			if again, _ := tuneJobs(t, bus); len(again) != 0 {
				t.Error("checked before")
			}
		}
		time.Sleep(9 * time.Hour)
		sweep(t, d)
		if published := failures(t, bus, "monday"); len(published) != 0 {
			t.Errorf("published %+v", published)
		}
		found(t, bus, d, first)
		wantJobs(t, bus, "at last", "monday")
	})
}

func TestATunedRunWithADamagedJoinIsStillTuned(t *testing.T) {
	t.Parallel()
	for name, damage := range damages {
		bus, d := setup(t, tunes)
		arrive(t, bus, d, "monday")
		first := tuneJob(t, bus)
		spoil(t, bus, "monday", damage)
		sweep(t, d)
		sweep(t, d)
		if again := tuneJob(t, bus); again.ID != first.ID {
			t.Errorf("%s: job %s, it was %s", name, again.ID, first.ID)
		}
		spoil(t, bus, "monday", damage)
		found(t, bus, d, first)
		wantJobs(t, bus, name, "monday")
	}
}

func TestAPipelineThatBeginsToTuneTunesWaitingRuns(t *testing.T) {
	t.Parallel()
	const waits = "pipeline: penguin\nmodule: ./m.py\ntrainer: {hyperparameters: run}\n"
	bus, d := setup(t, waits)
	arrive(t, bus, d, "monday")
	apply(t, bus, waits+"tuner: {when: always, resources: {class: gpu}}\n")
	sweep(t, d)
	sweep(t, d)
	if job := tuneJob(t, bus); job.Run != "monday" || job.Revision != 2 {
		t.Errorf("tunes by %+v", job)
	}
}

func TestTheWindowOfATuningIsTheTrainers(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, tunes)
	for i := range 3 {
		publish(t, bus, fmt.Sprint("run ", i), fmt.Sprint(i), &events.TransformReady{TransformGraph: "s3://bkt/graph",
			TransformedExamples: []events.Examples{{URI: fmt.Sprintf("s3://bkt/tx-%d", i), Span: int64(i)}}})
	}
	drain(t, d)
	all, _ := tuneJobs(t, bus)
	if len(all) != 3 {
		t.Fatalf("%d tune jobs", len(all))
	}
	if got := all[2].Inputs.TransformedExamples; len(got) != 2 || got[0].Span != 1 || got[1].Span != 2 {
		t.Errorf("tuned on %+v", got)
	}
}

func TestARunWhoseTuneJobIsImpossibleEnds(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, tunes)
	arrive(t, bus, d, "monday")
	tuneJob(t, bus)
	lost := joinOf(t, bus, "monday")
	lost.Stages[0].Revision = 99
	lost = lost.Dispatch(events.FunctionTune, "", join.Retry{})
	put(t, bus, lost)
	sweep(t, d)
	if j := joinOf(t, bus, "monday"); j.State != join.Ended || j.Ending.Kind != events.FailureInput || !j.Ending.Announced {
		t.Errorf("%+v", j)
	}
}

// put writes a join over the one that is there.
func put(t *testing.T, bus events.Bus, j join.Join) {
	t.Helper()
	joins, err := bus.KV(t.Context(), events.KVJoins)
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
	bus, d := setup(t, tunes)
	publish(t, bus, "monday", "t", transform())
	publish(t, bus, "monday", "h", hparams("s3://bkt/hp"))
	var log []events.Recorded
	for recorded, err := range bus.Read(t.Context(), events.Query{}) {
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
	if all, _ := tuneJobs(t, bus); len(all) != 0 || joinOf(t, bus, "monday").Stage(events.FunctionTune).Exists() {
		t.Errorf("tuned by %q: %+v", runsOf(all), joinOf(t, bus, "monday").Stages)
	}
	wantJobs(t, bus, "with hyperparameters", "monday")
}

func TestALostTuneJobOfAnAdmittedRunIsEnqueuedAtOnce(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, tunes+"concurrency: 1\n")
	arrive(t, bus, d, "a", "b")
	first := tuneJob(t, bus) // it vanishes from the queue
	sweep(t, d)
	if again := tuneJob(t, bus); again.ID != first.ID {
		t.Errorf("job of %s, it was of %s", again.Run, first.Run)
	}
}

// The hyperparameters that a search may reuse are looked up once, when it is due, and don't change,
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
			bus, d := setup(t, "pipeline: penguin\nmodule: ./penguin_utils.py\ntuner: "+tuner+"\n")
			arrive(t, bus, d, "saturday")
			if first := tuneJob(t, bus); first.Inputs.Hyperparameters != "" {
				t.Errorf("the first search of a pipeline may reuse %s", first.Inputs.Hyperparameters)
			} else {
				found(t, bus, d, first)
			}
			arrive(t, bus, d, "sunday")
			second := tuneJob(t, bus)
			publish(t, bus, "another", "h", hparams("s3://bkt/later"))
			publish(t, bus, "sunday", "e", &events.ExamplesReady{Examples: []events.Examples{{URI: "s3://bkt/raw"}}})
			drain(t, d) // enqueues the job again
			again, _ := tuneJobs(t, bus)
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
// it, and the run trains with that result.
func TestARunTrainsWithWhatItsTuneJobReuses(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, "pipeline: penguin\nmodule: ./penguin_utils.py\ntuner: {when: changed, resources: {class: gpu}}\n")
	publish(t, bus, "saturday", "h", hparams("s3://bkt/first"))
	arrive(t, bus, d, "sunday")
	job := tuneJob(t, bus)
	reused := events.NewHParamsFound(job, &events.HParamsReady{Hyperparameters: job.Inputs.Hyperparameters, Execution: "sha256:" + job.ID, Reused: true}, time.Unix(9, 0))
	if _, err := bus.Publish(t.Context(), reused); err != nil {
		t.Fatal(err)
	}
	drain(t, d)
	if trains := wantJobs(t, bus, "reused", "sunday"); trains[0].Inputs.Hyperparameters != "s3://bkt/first" {
		t.Errorf("trains with %+v", trains[0].Inputs)
	}
	if all, _ := tuneJobs(t, bus); len(all) != 0 {
		t.Errorf("tuned again: %q", runsOf(all))
	}
	if j := joinOf(t, bus, "sunday"); !j.SearchAnnounced() {
		t.Errorf("another source published it: %+v", j.Events)
	}
}
