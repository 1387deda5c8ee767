package dispatch_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
)

// sayMore adds a member to each object of an entry, as a newer dispatcher may.
func sayMore(t *testing.T, bus events.Bus, kv, key string) {
	t.Helper()
	at, err := bus.KV(t.Context(), kv)
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

// Members that a newer version has added to joins and admissions are ignored. A dispatcher of this
// version that writes the entry drops them.
func TestMembersOfANewerVersionAreIgnored(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, joined+"concurrency: {runs: 1, newest: queue}\n")
	for i := range 3 {
		run := fmt.Sprint("run-", i)
		publish(t, bus, run, "t"+run, transform())
		drain(t, d)
		sayMore(t, bus, events.KVJoins, dispatch.JoinKey("penguin", run))
		publish(t, bus, run, "h"+run, hparams("s3://bkt/best"))
	}
	drain(t, d)
	for i := range 3 { // each run that has failed is followed by the next one
		sayMore(t, bus, events.KVGates, "penguin")
		job := one(t, bus)
		if want := fmt.Sprint("run-", i); job.Run != want {
			t.Errorf("job of %s, want %s", job.Run, want)
		}
		publishOutcome(t, bus, job)
		drain(t, d)
	}
}

func one(t *testing.T, bus events.Bus) events.Job {
	t.Helper()
	all := jobs(t, bus)
	if len(all) != 1 {
		t.Fatalf("%d jobs", len(all))
	}
	return all[0]
}

func publishOutcome(t *testing.T, bus events.Bus, job events.Job) {
	t.Helper()
	failed := events.NewJobFailed(job, events.Attempt{ID: "a", Number: 1}, &events.Failure{Kind: events.FailureModule, Err: errors.New("it raised")})
	if _, err := bus.Publish(t.Context(), failed); err != nil {
		t.Fatal(err)
	}
}
