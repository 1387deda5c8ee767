package bridge_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/integrate/bridge"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runs/submit"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

// A marker whose event would be ignored becomes a dead letter with the reason; one whose
// notification is delivered again does not.
func TestMarkersOfEventsWithoutEffectAreDeadLetters(t *testing.T) {
	t.Parallel()
	w := world{T: t, bus: bustest.NewMemory(time.Second), store: storagetest.NewMemory("data")}
	spec, err := pipeline.Parse("p.yaml", []byte("pipeline: penguin\nmodule: ./mine\ntrainer: {wait_for: [examples], hyperparameters: none}\n"))
	if err == nil {
		_, _, err = dispatch.Apply(t.Context(), w.bus, spec)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.bridge = open(t, w.bus, w.store, bridge.Options{Checker: submit.NewChecker(w.bus, false, nil)})
	mark := func(folder, pipeline, run string) string {
		w.folder(folder)
		w.put(folder+"/_SUCCESS", fmt.Sprintf(`{"pipeline": %q, "run": %q}`, pipeline, run))
		message := w.message(folder+"/_SUCCESS", "1", nil)
		w.notify(message)
		w.drain()
		return message
	}
	first := mark("monday", "penguin", "monday")
	w.notify(first)
	w.drain()
	mark("other", "penguin", "monday")
	mark("third", "pengiun", "monday")
	if evs := w.events(); len(evs) != 1 {
		t.Errorf("published %+v, want one event", evs)
	}
	var reasons []string
	for _, deadLetter := range w.dead() {
		reasons = append(reasons, fmt.Sprint(deadLetter.Reason))
	}
	if len(reasons) != 2 || !strings.Contains(reasons[0], "other/_SUCCESS") || !strings.Contains(reasons[0], "with other data") || !strings.Contains(reasons[1], "no pipeline pengiun is applied") {
		t.Errorf("dead letters %q", reasons)
	}
}
