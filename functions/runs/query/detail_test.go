package query

import (
	"errors"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runs"
)

func TestTheStateOfARunThatIsTuned(t *testing.T) {
	t.Parallel()
	bus := bustest.NewMemory(0)
	spec, err := pipeline.Parse("p.yaml", []byte("pipeline: penguin\nmodule: ./m.py\ntuner: {when: always, resources: {class: gpu}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, _, applied := dispatch.Apply(t.Context(), bus, spec)
	d, err := dispatch.New(t.Context(), bus, nil)
	event := events.Event{ID: "t", Source: "/up", Pipeline: "penguin", Run: "monday", Data: &events.TransformReady{TransformGraph: "s3://bkt/graph"}}
	_, published := bus.Publish(t.Context(), event)
	if err := errors.Join(applied, err, published, dispatch.Pause(t.Context(), bus, "penguin"), d.Next(t.Context(), 0)); err != nil {
		t.Fatal(err)
	}
	is := func(state, what string) Detail {
		t.Helper()
		got, err := Of(t.Context(), bus, runs.Key{Pipeline: "penguin", Run: "monday"})
		if err != nil || got.State != state || got.What() != what {
			t.Errorf("%s: %s, %v; want %s: %s", got.State, got.What(), err, state, what)
		}
		return got
	}
	is(runs.Held, "its pipeline is paused: `stoker resume` resumes it")
	if err := dispatch.Resume(t.Context(), bus, "penguin"); err != nil {
		t.Fatal(err)
	}
	is(runs.Queued, "waits for a worker of class gpu")
	claim, err := bus.Claim(t.Context(), events.FunctionTune, []string{"gpu"}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	job, err := claim.Job()
	if err != nil {
		t.Fatal(err)
	}
	if got := is(runs.Tuning, "a worker is searching for its hyperparameters"); got.Job != job.ID || got.Revision != 1 || got.Lease == nil || !got.Expires.IsZero() {
		t.Errorf("shown as %+v", got)
	}
	found := events.NewHParamsFound(job, &events.HParamsReady{Hyperparameters: "s3://bkt/hp", Execution: digest}, time.Unix(1, 0))
	_, err = bus.Publish(t.Context(), found)
	if err := errors.Join(err, claim.Ack(t.Context()), d.Next(t.Context(), 0)); err != nil {
		t.Fatal(err)
	}
	is(runs.Queued, "waits for a worker of class cpu")
}

// A run whose search failed has ended without a job: its dead letter can't be retried.
func TestARunThatEndedWithItsSearchIsToldApart(t *testing.T) {
	t.Parallel()
	bus := bustest.NewMemory(0)
	p, err := pipeline.Parse("p.yaml", []byte("pipeline: penguin\nmodule: ./mine\ntuner: {when: always, on_failed: fail}\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, _, applied := dispatch.Apply(t.Context(), bus, p)
	d, err := dispatch.New(t.Context(), bus, nil)
	_, published := bus.Publish(t.Context(), events.Event{
		ID: "t1", Source: "/up", Pipeline: "penguin", Run: "monday", Data: &events.TransformReady{TransformGraph: "s3://bkt/graph"},
	})
	if err := errors.Join(applied, err, published, d.Next(t.Context(), 0)); err != nil {
		t.Fatal(err)
	}
	claim, err := bus.Claim(t.Context(), events.FunctionTune, []string{"cpu"}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	job, err := claim.Job()
	if err != nil {
		t.Fatal(err)
	}
	ended := func() bool {
		t.Helper()
		detail, err := Of(t.Context(), bus, runs.Key{Pipeline: "penguin", Run: "monday"})
		if err != nil {
			t.Fatal(err)
		}
		return detail.EndedWithoutJob
	}
	if ended() {
		t.Error("it has ended while its search runs")
	}
	_, err = bus.Publish(t.Context(), events.NewJobFailed(job, claim.Attempt(), &events.Failure{Kind: events.FailureModule, Err: errors.New("it raised")}))
	if err := errors.Join(err, claim.Ack(t.Context()), d.Next(t.Context(), 0)); err != nil {
		t.Fatal(err)
	}
	if !ended() {
		t.Error("it has not ended after its search failed")
	}
}

const digest = "sha256:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

// A model may be worse than the best trial of its search: the run shows both.
func TestARunShowsItsModelBesideItsBestTrial(t *testing.T) {
	t.Parallel()
	score := 0.97
	found := &events.HParamsReady{Objective: "val_accuracy", Score: &score}
	for want, s := range map[string]*Search{
		"best trial: val_accuracy 0.97; this model: 0.91": searchOf(found, &events.ModelTrained{Metrics: map[string]float64{"accuracy": 0.91}}),
		"best trial: val_accuracy 0.97; this model: 0.92": searchOf(found, &events.ModelTrained{Metrics: map[string]float64{"val_accuracy": 0.92, "accuracy": 1}}),
		"best trial: val_accuracy 0.97":                   searchOf(found, &events.ModelTrained{Metrics: map[string]float64{"loss": 0.5}}),
	} {
		if s.String() != want {
			t.Errorf("%s, want %s", s, want)
		}
	}
	if searchOf(nil, nil) != nil || searchOf(&events.HParamsReady{Objective: "loss"}, nil) != nil || searchOf(found, nil).Model != nil {
		t.Error("a search without a result is shown, or a model that there is not")
	}
}
