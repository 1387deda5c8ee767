package dispatch_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/eventstest"
	"github.com/stoker-ml/stoker/functions/dispatch"
)

// sayMore has a newer dispatcher add a member to each object of an entry.
func sayMore(t *testing.T, box events.Letterbox, register, key string) {
	t.Helper()
	at, err := box.Register(t.Context(), register)
	if err != nil {
		t.Fatal(err)
	}
	entry, err := at.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(entry.Value, &value); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(more(value))
	if err == nil {
		_, err = at.Update(t.Context(), key, text, entry.Revision)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func more(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name := range v {
			v[name] = more(v[name])
		}
		v["added_later"] = map[string]any{"a": 1}
	case []any:
		for i := range v {
			v[i] = more(v[i])
		}
	}
	return value
}

// wantMore wants an older dispatcher to have left it there, so many times.
func wantMore(t *testing.T, box events.Letterbox, register, key string, count int) {
	t.Helper()
	at, err := box.Register(t.Context(), register)
	if err != nil {
		t.Fatal(err)
	}
	entry, err := at.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(string(entry.Value), `"added_later":{"a":1}`); got != count {
		t.Errorf("%s says %d times what was added, want %d: %s", key, got, count, entry.Value)
	}
}

func TestWhatANewerDispatcherSaysOfARunStays(t *testing.T) {
	t.Parallel()
	box, d := setup(t, joined)
	key := dispatch.JoinKey("penguin", "monday")
	publish(t, box, "monday", "1", transform())
	drain(t, d)
	sayMore(t, box, events.RegisterJoins, key)
	const said = 4 // the join, its fact, that fact's inputs, and the examples in them
	publish(t, box, "monday", "2", hparams("s3://bkt/best"))
	drain(t, d) // complete, then dispatched
	wantMore(t, box, events.RegisterJoins, key, said)
	job := one(t, box)
	publishOutcome(t, box, job)
	drain(t, d)
	if err := d.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantMore(t, box, events.RegisterJoins, key, said)
}

func TestWhatANewerDispatcherSaysOfARunThatEndsStays(t *testing.T) {
	t.Parallel()
	box, d := setup(t, joined)
	key := dispatch.JoinKey("penguin", "monday")
	publish(t, box, "monday", "1", transform())
	drain(t, d)
	sayMore(t, box, events.RegisterJoins, key)
	if _, err := dispatch.Cancel(t.Context(), box, "penguin", "monday"); err != nil {
		t.Fatal(err)
	}
	wantMore(t, box, events.RegisterJoins, key, 4)
}

func TestWhatANewerDispatcherSaysOfAGateStays(t *testing.T) {
	t.Parallel()
	box, d := setup(t, joined+"concurrency: {runs: 1, newest: queue}\n")
	for i := range 3 {
		run := fmt.Sprint("run-", i)
		publish(t, box, run, "t"+run, transform())
		publish(t, box, run, "h"+run, hparams("s3://bkt/best"))
	}
	drain(t, d)
	sayMore(t, box, events.RegisterGates, "penguin")
	wantMore(t, box, events.RegisterGates, "penguin", 4) // the gate and its three places
	for _, operate := range []func() error{
		func() error { return dispatch.Pause(t.Context(), box, "penguin") },
		func() error { return dispatch.Resume(t.Context(), box, "penguin") },
		func() error { return d.Sweep(t.Context()) },
	} {
		if err := operate(); err != nil {
			t.Fatal(err)
		}
		wantMore(t, box, events.RegisterGates, "penguin", 4)
	}
	for left := 3; left > 0; left-- { // each that is trained leaves, and the next passes
		wantMore(t, box, events.RegisterGates, "penguin", 1+left)
		publishOutcome(t, box, one(t, box))
		drain(t, d)
	}
	wantMore(t, box, events.RegisterGates, "penguin", 1) // nobody is there, and the entry stays
	if got := oneMore(t, box, d); got != "run-4" {
		t.Errorf("then comes %s", got)
	}
}

func one(t *testing.T, box events.Letterbox) events.Job {
	t.Helper()
	all := jobs(t, box)
	if len(all) != 1 {
		t.Fatalf("%d jobs", len(all))
	}
	return all[0]
}

// oneMore is the run of the job that comes of another one's facts.
func oneMore(t *testing.T, box *eventstest.Memory, d *dispatch.Dispatcher) string {
	t.Helper()
	publish(t, box, "run-4", "t4", transform())
	publish(t, box, "run-4", "h4", hparams("s3://bkt/best"))
	drain(t, d)
	return one(t, box).Run
}

func publishOutcome(t *testing.T, box events.Letterbox, job events.Job) {
	t.Helper()
	failed := events.NewJobFailed(job, events.Attempt{ID: "a", Number: 1}, &events.Failure{Kind: events.FailureModule, Err: errors.New("it raised")})
	if _, err := box.Publish(t.Context(), failed); err != nil {
		t.Fatal(err)
	}
}
