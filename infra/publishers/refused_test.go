package publishers_test

import (
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
)

// refusals checks what upstream sees when something is wrong: no error is silent, and no event is
// stored in part.
func refusals(t *testing.T, publish publisher, file string) {
	t.Run("no permission", func(t *testing.T) {
		t.Parallel()
		b := wary(t)
		said, err := publish(t, b.env, "examples.ready", "penguin", run, file)
		wantRefused(t, said, err, "permissions violation", "events.examples-ready.penguin")
		if n := len(stored(t, b)); n > 0 {
			t.Errorf("%d events", n)
		}
		if said, err := publish(t, b.env, "examples.ready", "taxi", run, file); err != nil || len(stored(t, b)) != 1 {
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
	// The bus accepts it; the dispatcher makes a dead letter of it.
	t.Run("a kind that is none", func(t *testing.T) {
		t.Parallel()
		b := keyed(t)
		if said, err := publish(t, b.env, "examples.redy", "penguin", run, file); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		if all := stored(t, b); len(all) != 1 || all[0].Err == nil || !strings.Contains(all[0].Err.Error(), "type") {
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

// stored returns the content of the log.
func stored(t *testing.T, b broker) (all []events.Recorded) {
	t.Helper()
	for recorded, err := range b.bus.Read(t.Context(), events.Query{}) {
		must(t, err)
		all = append(all, recorded)
	}
	return all
}
