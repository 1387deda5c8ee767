package publishers_test

import (
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
)

// refusals are what upstream sees when something is wrong: nothing is told in silence, and nothing is half told.
func refusals(t *testing.T, publish publisher, file string) {
	t.Run("no permission", func(t *testing.T) {
		t.Parallel()
		b := wary(t)
		said, err := publish(t, b.env, "examples.ready", "penguin", run, file)
		wantRefused(t, said, err, "permissions violation", "facts.examples-ready.penguin")
		if n := len(told(t, b)); n > 0 {
			t.Errorf("%d facts", n)
		}
		if said, err := publish(t, b.env, "examples.ready", "taxi", run, file); err != nil || len(told(t, b)) != 1 {
			t.Errorf("what is permitted: %v, %s", err, said)
		}
	})
	t.Run("no streams", func(t *testing.T) {
		t.Parallel()
		said, err := publish(t, bare(t), "examples.ready", "penguin", run, file)
		wantRefused(t, said, err, "no response from stream")
	})
	t.Run("no bus", func(t *testing.T) {
		t.Parallel()
		said, err := publish(t, []string{"NATS_URL=nats://127.0.0.1:1"}, "examples.ready", "penguin", run, file)
		wantRefused(t, said, err)
	})
	t.Run("a kind that is none", func(t *testing.T) { // the bus takes it: the dispatcher makes a dead letter of it
		t.Parallel()
		b := keyed(t)
		if said, err := publish(t, b.env, "examples.redy", "penguin", run, file); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		if all := told(t, b); len(all) != 1 || all[0].Err == nil || !strings.Contains(all[0].Err.Error(), "type") {
			t.Errorf("got %+v", all)
		}
	})
}

func wantRefused(t *testing.T, said string, err error, words ...string) {
	t.Helper()
	if err == nil || said == "" {
		t.Errorf("%v: %q", err, said)
	}
	for _, word := range words {
		if !strings.Contains(strings.ToLower(said), word) {
			t.Errorf("it says nothing of %s: %s", word, said)
		}
	}
}

// told is what the log has.
func told(t *testing.T, b broker) (all []events.Recorded) {
	t.Helper()
	for recorded, err := range b.bus.Read(t.Context(), events.Query{}) {
		must(t, err)
		all = append(all, recorded)
	}
	return all
}
