package jetstream_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
)

// A listener with the dispatcher's name would take its events and change its filters: that is an
// error, and nothing is changed.
func TestNobodyListensByTheNameOfAReader(t *testing.T) {
	t.Parallel()
	bus := connect(t, startBus(t), jetstream.Options{Create: true})
	if _, err := bus.Follow(t.Context(), "dispatch", time.Millisecond); !errors.Is(err, events.ErrEmpty) {
		t.Fatal(err)
	}
	if _, err := bus.Listen(t.Context(), "dispatch", []events.Kind{events.KindTrainingFailed}, time.Millisecond); !errors.Is(err, events.ErrConflict) {
		t.Errorf("got %v, want a conflict", err)
	}
	event := events.Event{ID: "1", Source: "/test", Pipeline: "penguin", Run: "monday", Data: &events.HParamsReady{Hyperparameters: "s3://abc/h"}}
	if _, err := bus.Publish(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	delivery, err := bus.Follow(t.Context(), "dispatch", time.Minute)
	if err != nil || delivery.Recorded().Event.ID != "1" {
		t.Errorf("the dispatcher got %v, %v", delivery, err)
	}
}
