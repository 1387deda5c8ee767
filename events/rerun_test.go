package events_test

import (
	"testing"

	"github.com/stoker-ml/stoker/events"
)

func TestARerunIsTheSameEventOfAnotherRun(t *testing.T) {
	t.Parallel()
	force := events.Request{Force: true}
	for _, data := range []events.Data{
		&events.ExamplesReady{Examples: []events.Examples{{URI: "s3://bkt/ex"}}, Request: force},
		&events.TransformReady{TransformGraph: "s3://bkt/graph", Request: force},
		&events.HParamsReady{Hyperparameters: "s3://bkt/hp", Answer: events.Answer{Job: "j1", JobRequest: "dead-1"}, Request: force},
	} {
		first := events.Event{ID: "ü 1", Source: "/up", Pipeline: "penguin", Run: "monday", Causation: "x", Data: data}
		again := events.NewRerun(first, "monday-2", false)
		if again.ID != events.NewRerun(first, "monday-2", false).ID {
			t.Error("it has another id each time")
		}
		if err := again.Validate(); err != nil || again.Run != "monday-2" || again.Source != events.SourceRerun || again.Data.Kind() != data.Kind() {
			t.Errorf("%+v, %v", again, err)
		}
		if !events.RequestOf(data).Force || events.RequestOf(again.Data).Force {
			t.Errorf("%s: the first event is changed, or force is not", data.Kind())
		}
		if !events.RequestOf(events.NewRerun(first, "monday-2", true).Data).Force {
			t.Errorf("%s: force is not what was asked for", data.Kind())
		}
		if h, ok := again.Data.(*events.HParamsReady); ok && (h.Job != "" || h.JobRequest != "" || data.(*events.HParamsReady).Job != "j1") {
			t.Errorf("it answers the first run's job: %+v", h)
		}
		if !events.CausedBy(again, events.Cause{ID: first.ID}) {
			t.Errorf("the first event is not named: %+v", again)
		}
		if _, _, err := events.Encode(again); err != nil {
			t.Errorf("can't be published: %v", err)
		}
		if events.FoundByStoker(again) {
			t.Error("a rerun is taken for what Stoker found")
		}
	}
}

func TestAnotherRerunHasAnotherID(t *testing.T) {
	t.Parallel()
	first := events.Event{ID: "1", Source: "/up", Pipeline: "penguin", Run: "monday", Data: &events.TransformReady{TransformGraph: "s3://bkt/graph"}}
	seen := map[string]string{events.NewRerun(first, "monday-2", false).ID: "the first"}
	change := func(to func(f *events.Event)) events.Event { f := first; to(&f); return f }
	for what, other := range map[string]events.Event{
		"another run":          events.NewRerun(first, "monday-3", false),
		"force":                events.NewRerun(first, "monday-2", true),
		"of another event":     events.NewRerun(change(func(f *events.Event) { f.ID = "2" }), "monday-2", false),
		"of another publisher": events.NewRerun(change(func(f *events.Event) { f.Source = "/down" }), "monday-2", false),
		"of another run":       events.NewRerun(change(func(f *events.Event) { f.Run = "tuesday" }), "monday-2", false),
		"of another pipeline":  events.NewRerun(change(func(f *events.Event) { f.Pipeline = "taxi" }), "monday-2", false),
		"of another kind":      events.NewRerun(change(func(f *events.Event) { f.Data = &events.ExamplesReady{} }), "monday-2", false),
	} {
		if seen[other.ID] != "" {
			t.Errorf("%s has the id of %s", what, seen[other.ID])
		}
		seen[other.ID] = what
	}
}

func TestWhatStokerFoundIsKnownByItsSource(t *testing.T) {
	t.Parallel()
	for source, found := range map[string]bool{
		events.Source(events.FunctionTrain): true, events.Source(events.FunctionTune): true, events.Source(events.FunctionTrial): true,
		"/stoker/dispatch": true, "/up": false, events.SourceRerun: false, "": false,
	} {
		if events.FoundByStoker(events.Event{Source: source}) != found {
			t.Errorf("%q: want %v", source, found)
		}
	}
}
