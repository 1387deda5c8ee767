package jetstream_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
)

func TestTheLastProgressIsThereForWhoDidNotWatch(t *testing.T) {
	t.Parallel()
	b := connect(t, startBus(t), jetstream.Options{Create: true})
	if _, err := b.LastProgress(t.Context(), "penguin", "a run", "j1"); !errors.Is(err, events.ErrNotFound) {
		t.Errorf("before any report: %v", err)
	}
	for step := range 3 {
		p := events.Progress{Job: "j1", Pipeline: "penguin", Run: "a run", Phase: "training", Step: step, Steps: 3}
		if err := b.Report(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	var last events.Progress
	for deadline := time.Now().Add(8 * time.Minute); time.Now().Before(deadline) && last.Step < 2; time.Sleep(time.Millisecond) {
		var err error
		if last, err = b.LastProgress(t.Context(), "penguin", "a run", "j1"); err != nil && !errors.Is(err, events.ErrNotFound) {
			t.Fatal(err)
		}
	}
	if last.Step != 2 || last.Phase != "training" {
		t.Errorf("last is %+v", last)
	}
}
