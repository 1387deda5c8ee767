package events_test

import (
	"testing"

	"github.com/stoker-ml/stoker/events"
)

func TestARerunIsTheSameEventOfAnotherRun(t *testing.T) {
	t.Parallel()
	first := events.Fact{ID: "ü 1", Source: "/up", Pipeline: "penguin", Run: "monday", Causation: "x", Data: &events.TransformReady{
		TransformGraph: "s3://bkt/graph", Request: events.Request{Force: true},
	}}
	again := events.NewRerun(first, "monday-2", false)
	if again.ID != events.NewRerun(first, "monday-2", false).ID {
		t.Error("it has another id each time")
	}
	if err := again.Validate(); err != nil || again.Run != "monday-2" || again.Source != events.SourceRerun || events.RequestOf(again.Data).Force {
		t.Errorf("%+v, %v", again, err)
	}
	if !events.CausedBy(again, events.Cause{ID: first.ID}) || !events.RequestOf(first.Data).Force {
		t.Errorf("the first event is changed, or not named: %+v", again)
	}
	if _, _, err := events.Encode(again); err != nil {
		t.Errorf("can't be published: %v", err)
	}
	for _, other := range []events.Fact{events.NewRerun(first, "monday-3", false), events.NewRerun(first, "monday-2", true)} {
		if other.ID == again.ID {
			t.Errorf("same id: %+v", other)
		}
	}
	if events.FoundByStoker(again) || events.FoundByStoker(first) || !events.FoundByStoker(events.Fact{Source: events.Source(events.FunctionTune)}) {
		t.Error("who found it")
	}
}
