package runs

import (
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

func spec(t *testing.T) pipeline.Pipeline {
	t.Helper()
	p, err := pipeline.Parse("p.yaml", []byte("pipeline: penguin\nmodule: ./m\ntrainer: {wait_for: [transform, hparams], resources: {class: gpu}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAStateIsThatOfTheJoinUntilTheLogHasAnOutcome(t *testing.T) {
	t.Parallel()
	noon := time.Unix(43200, 0)
	event := join.Event{Cause: events.Cause{Kind: events.KindTransformReady, Sequence: 1}, Stored: noon}
	at := func(state join.State) join.Join {
		var stages []join.Stage
		if state != join.Waiting {
			stages = []join.Stage{{Function: events.FunctionTrain, Through: 1, Revision: 1, Job: "j", After: 5}}
		}
		return join.Join{Pipeline: "penguin", Run: "monday", State: state, Events: []join.Event{event}, Stages: stages}
	}
	held := func(cancelled bool, written time.Time) Lease {
		return Lease{Lease: events.Lease{Holder: "me", Cancelled: cancelled}, Written: written}
	}
	handedBack := Lease{Lease: events.Lease{Number: 6, Ended: &events.Ended{Attempt: 6, Kind: events.FailureUnavailable, Why: "\x1b[31mno space left"}}}
	paused := join.Admission{Paused: true, Waiting: []join.Position{{Run: "monday"}}}
	trained := LastOutcome{Summary: Summary{State: Trained, Model: "s3://bkt/model", Updated: noon}, Sequence: 9}
	older := trained
	older.Sequence = 5
	gone := at(join.Dispatched)
	gone.Stages[0].Outcome = 7
	for name, tc := range map[string]struct {
		join  join.Join
		last  LastOutcome
		lease Lease
		gate  join.Admission
		state string
		what  string
	}{
		"an event is missing":       {join: at(join.Waiting), state: Waiting, what: "waits for hparams.ready"},
		"no worker has the job":     {join: at(join.Dispatched), state: Queued, what: "waits for a worker of class gpu"},
		"it was handed back":        {join: at(join.Dispatched), lease: handedBack, state: Queued, what: "waits for a worker of class gpu, after attempt 6: no space left"},
		"a worker has it":           {join: at(join.Dispatched), lease: held(false, noon), state: Running, what: "a worker is executing its job"},
		"stopping":                  {join: at(join.Dispatched), lease: held(true, noon), state: "running, stopping", what: "a worker is executing its job"},
		"waits for admission":       {join: at(join.Complete), gate: paused, state: Held, what: "its pipeline is paused: `stoker resume` resumes it"},
		"trained":                   {join: at(join.Dispatched), last: trained, state: Trained, what: "s3://bkt/model"},
		"asked for again":           {join: at(join.Dispatched), last: older, state: Queued, what: "waits for a worker of class gpu"},
		"trained, and taken again":  {join: at(join.Dispatched), last: trained, lease: held(false, noon.Add(1)), state: Running, what: "a worker is executing its job"},
		"trained, a lease was left": {join: at(join.Dispatched), last: trained, lease: held(false, noon), state: Trained, what: "s3://bkt/model"},
		"its outcome is gone":       {join: gone, state: Unclear, what: "event 7, the outcome of the run, is gone from the log"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := NewIndex(Options{})
			x.tail = 9
			x.pipelines["penguin"] = Pipeline{Spec: spec(t), Revision: 1}
			x.admissions["penguin"] = admission{Admission: tc.gate}
			x.leases["j"] = tc.lease
			x.runs[Key{"penguin", "monday"}] = &record{join: tc.join, joined: true, last: tc.last}
			got, known := x.Run(Key{"penguin", "monday"})
			if !known || got.Headline() != tc.state || got.What() != tc.what {
				t.Errorf("%s: %s; want %s: %s", got.Headline(), got.What(), tc.state, tc.what)
			}
		})
	}
	x := NewIndex(Options{})
	x.buckets[events.KVPipelines].whole = true
	x.runs[Key{"penguin", "monday"}] = &record{join: at(join.Waiting), joined: true}
	if got, _ := x.Run(Key{"penguin", "monday"}); got.State != Unclear || got.Run != "monday" || got.Error == "" {
		t.Errorf("without a pipeline: %+v", got.Summary)
	}
}

func TestMessagesAreShownWithoutControlSequences(t *testing.T) {
	t.Parallel()
	state := Summary{State: Failed, Error: "\x1b[31mboom\x1b[0m\tat 1%\r2%\nline two"}
	if got := state.What(); got != "2%" && got != "boom at 2%" {
		t.Errorf("%q", got)
	}
}

func TestARunWhoseTuningFailedHasFailed(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"tuning failed: boom; the pipeline's tuner.on_failed is fail": Failed,
		"waited for hparams.ready since noon, and expired after 2h":   Expired,
	} {
		if got := ofFailure(events.FailureIncomplete, message); got != want {
			t.Errorf("%s: %s, want %s", message, got, want)
		}
	}
}
