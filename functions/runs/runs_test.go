package runs

import (
	"errors"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// world is a Source with fixed answers.
type world struct {
	spec   pipeline.Pipeline
	gate   join.Admission
	leases map[string]Lease
}

func (w world) Spec(string, uint64) (pipeline.Pipeline, error) {
	if w.spec.Name == "" {
		return w.spec, errors.New("no pipeline")
	}
	return w.spec, nil
}
func (w world) Gate(string) (join.Admission, error) { return w.gate, nil }
func (w world) Lease(job string) (Lease, error)     { return w.leases[job], nil }

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
	held := func(cancelled bool, written time.Time) map[string]Lease {
		return map[string]Lease{"j": {Lease: events.Lease{Holder: "me", Cancelled: cancelled}, Written: written}}
	}
	handedBack := map[string]Lease{"j": {Lease: events.Lease{Number: 6, Ended: &events.Ended{Attempt: 6, Kind: events.FailureUnavailable, Why: "\x1b[31mno space left"}}}}
	trained := LastOutcome{State: State{State: Trained, Model: "s3://bkt/model", Updated: noon}, Sequence: 9}
	older := trained
	older.Sequence = 5
	for name, tc := range map[string]struct {
		join  join.Join
		last  LastOutcome
		world world
		state string
		what  string
	}{
		"an event is missing":       {at(join.Waiting), LastOutcome{}, world{}, Waiting, "waits for hparams.ready"},
		"no worker has the job":     {at(join.Dispatched), LastOutcome{}, world{}, Queued, "waits for a worker of class gpu"},
		"it was handed back":        {at(join.Dispatched), LastOutcome{}, world{leases: handedBack}, Queued, "waits for a worker of class gpu, after attempt 6: no space left"},
		"a worker has it":           {at(join.Dispatched), LastOutcome{}, world{leases: held(false, noon)}, Running, "a worker has it"},
		"stopping":                  {at(join.Dispatched), LastOutcome{}, world{leases: held(true, noon)}, "running, stopping", "a worker has it"},
		"waits for admission":       {at(join.Complete), LastOutcome{}, world{gate: join.Admission{Paused: true, Waiting: []join.Position{{Run: "monday"}}}}, Held, "its pipeline is paused: `stoker resume` lets it go on"},
		"trained":                   {at(join.Dispatched), trained, world{}, Trained, "s3://bkt/model"},
		"asked for again":           {at(join.Dispatched), older, world{}, Queued, "waits for a worker of class gpu"},
		"trained, and taken again":  {at(join.Dispatched), trained, world{leases: held(false, noon.Add(1))}, Running, "a worker has it"},
		"trained, a lease was left": {at(join.Dispatched), trained, world{leases: held(false, noon)}, Trained, "s3://bkt/model"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.world.spec = spec(t)
			got, err := Of(tc.join, tc.last, tc.world)
			if err != nil || got.Headline() != tc.state || got.What() != tc.what {
				t.Errorf("%s: %s, %v; want %s: %s", got.Headline(), got.What(), err, tc.state, tc.what)
			}
		})
	}
	if got, err := Of(at(join.Waiting), LastOutcome{}, world{}); err == nil || got.Run != "monday" {
		t.Errorf("without a pipeline: %+v, %v", got, err)
	}
}

func TestMessagesAreShownWithoutControlSequences(t *testing.T) {
	t.Parallel()
	state := State{State: Failed, Error: "\x1b[31mboom\x1b[0m\tat 1%\r2%\nline two"}
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
