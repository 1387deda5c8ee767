package eventstest

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
)

func newerTests() map[string]func(*testing.T, Box) {
	return map[string]func(*testing.T, Box){
		"what a newer version says in a lease stays": leaseOfNewer,
		"what a newer version says in a job stays":   jobOfNewer,
	}
}

const addedLater = "added_later"

// leaseOfNewer has a newer version write into a job's lease. The next attempt, its heartbeats, a cancelling and the attempt's end leave
// that there; the job's end takes it away.
func leaseOfNewer(t *testing.T, box Box) {
	must(t, box.Offer(t.Context(), exampleJob("job-1", "cpu")))
	must(t, take(t, box, "cpu").Later(t.Context(), 0, events.FailureUnavailable, "why"))
	addToLease(t, box)
	claim := take(t, box, "cpu")
	wantAdded(t, box)
	must(t, claim.Hold(t.Context(), func(ctx context.Context) error {
		time.Sleep(Lease) // heartbeats come
		return context.Cause(ctx)
	}))
	wantAdded(t, box)
	must(t, box.Cancel(t.Context(), "job-1"))
	wantAdded(t, box)
	must(t, claim.Later(t.Context(), 0, events.FailureUnavailable, "why"))
	wantAdded(t, box)
	last := take(t, box, "cpu")
	if attempt := last.Attempt(); attempt.Number != 3 || !attempt.Cancelled {
		t.Errorf("the next attempt is %+v", attempt)
	}
	wantAdded(t, box)
	must(t, last.Done(t.Context()))
	wantNoLease(t, box)
}

func addToLease(t *testing.T, box Box) {
	t.Helper()
	leases := open(t, box, events.RegisterLeases)
	entry, err := leases.Get(t.Context(), "job-1")
	must(t, err)
	members := map[string]any{}
	must(t, json.Unmarshal(entry.Value, &members))
	members[addedLater] = "x"
	value, err := json.Marshal(members)
	must(t, err)
	_, err = leases.Update(t.Context(), "job-1", value, entry.Revision)
	must(t, err)
}

func wantAdded(t *testing.T, box Box) {
	t.Helper()
	entry, err := open(t, box, events.RegisterLeases).Get(t.Context(), "job-1")
	must(t, err)
	members := map[string]any{}
	must(t, json.Unmarshal(entry.Value, &members))
	if members[addedLater] != "x" {
		t.Errorf("the lease is %s", entry.Value)
	}
}

// jobOfNewer offers again what was taken, as a retry does.
func jobOfNewer(t *testing.T, box Box) {
	newer := exampleJob("job-1", "cpu")
	newer.More = &events.More{Unknown: map[string]json.RawMessage{addedLater: []byte(`"x"`)}}
	for range 2 {
		must(t, box.Offer(t.Context(), newer))
		claim := take(t, box, "cpu")
		job, err := claim.Job()
		must(t, err)
		if job.More == nil || string(job.More.Unknown[addedLater]) != `"x"` {
			t.Errorf("taken without what a newer version says: %+v", job.More)
		}
		must(t, claim.Done(t.Context()))
		newer = job
	}
}
