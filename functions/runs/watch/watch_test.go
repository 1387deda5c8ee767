package watch_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/runs/watch"
)

// A watcher whose output is closed ends instead of reading on, as in `stoker watch | head -1`.
func TestWatchingEndsWhenALineCanNotBeShown(t *testing.T) {
	t.Parallel()
	bus := bustest.NewMemory(0)
	event := events.Event{ID: "1", Source: "/up", Pipeline: "penguin", Run: "monday", Data: &events.TransformReady{TransformGraph: "s3://bkt/graph"}}
	if _, err := bus.Publish(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	closed, shown := errors.New("output is closed"), 0
	watching, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := watch.Lines(watching, bus, watch.Options{All: true}, func(watch.Line) error {
		if shown++; shown > 1 {
			cancel()
		}
		return closed
	})
	if !errors.Is(err, closed) || shown != 1 {
		t.Errorf("%d lines were shown, error %v; want one line and the error of showing it", shown, err)
	}
}
