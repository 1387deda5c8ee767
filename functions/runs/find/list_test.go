package find

import (
	"errors"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runs"
)

func TestOneBadJoinHidesNoOtherRun(t *testing.T) {
	t.Parallel()
	bus := bustest.NewMemory(0)
	spec, err := pipeline.Parse("p.yaml", []byte("pipeline: penguin\nmodule: ./mine\ntrainer: {wait_for: [transform]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := dispatch.Apply(t.Context(), bus, spec); err != nil {
		t.Fatal(err)
	}
	joins, err := bus.KV(t.Context(), events.KVJoins)
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{
		"penguin/torn": `{`,
		"penguin/orphaned": `{"pipeline": "penguin", "run": "orphaned", "state": "dispatched", "events": [{"sequence": 1}],
			"stages": [{"function": "train", "through": 1, "revision": 99, "job": "j1"}]}`,
		"penguin/waiting": `{"pipeline": "penguin", "run": "waiting", "state": "waiting"}`,
		"other/far":       `{`,
	} {
		if _, err := joins.Create(t.Context(), key, []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	all, err := List(t.Context(), bus, "penguin")
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]string{}
	for _, run := range all {
		states[run.Run] = run.State
		if run.State == runs.Unclear && run.What() == "" {
			t.Errorf("run %s is unclear, without a reason", run.Run)
		}
	}
	if len(states) != 3 || states["torn"] != runs.Unclear || states["orphaned"] != runs.Unclear || states["waiting"] != runs.Waiting {
		t.Errorf("states %v", states)
	}
}

func TestARunContinuesAfterOneOfItsEventsWasRefused(t *testing.T) {
	t.Parallel()
	bus := bustest.NewMemory(0)
	trained := events.NewModelTrained(events.Job{Function: events.FunctionTrain, Pipeline: "penguin", Run: "monday"}, &events.ModelTrained{
		Model:     events.Model{URI: "s3://bkt/model", Digest: digest, Formats: []string{"Format-Serving"}},
		Execution: digest, Inputs: []events.Artifact{}, Module: "m",
	})
	bad := events.Event{ID: "x", Source: "/up", Pipeline: "penguin", Run: "monday", Data: &events.HParamsReady{Hyperparameters: "s3://bkt/h"}}
	refused := events.NewEventRefused(events.Recorded{Event: bad}, &events.Failure{Kind: events.FailureInput, Err: errors.New("refused")})
	for i, event := range []events.Event{refused, trained, refused} {
		event.ID += string(rune('a' + i))
		if _, err := bus.Publish(t.Context(), event); err != nil {
			t.Fatal(err)
		}
	}
	all, err := List(t.Context(), bus, "")
	if err != nil || len(all) != 1 || all[0].State != runs.Trained {
		t.Errorf("%+v, %v", all, err)
	}
}

const digest = "sha256:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
