package eventstest

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
)

func proveTests() map[string]func(*testing.T, Box) {
	return map[string]func(*testing.T, Box){
		"a lease can be proved by anyone while it is held":      proveHeld,
		"a lease that ran out can't be proved":                  proveRanOut,
		"a lease that another took can't be proved":             proveTaken,
		"a lease written over by someone else is lost":          proveStolen,
		"what was settled can't be proved":                      proveSettled,
		"progress of a zombie's work stops where it must prove": proveZombie,
	}
}

// proveHeld asks from other goroutines than the heart's, for longer than a lease.
func proveHeld(t *testing.T, box Box) {
	must(t, box.Offer(t.Context(), exampleJob("job-1", "cpu")))
	claim := take(t, box, "cpu")
	must(t, claim.Prove())
	must(t, claim.Hold(t.Context(), func(ctx context.Context) error {
		until := time.Now().Add(2 * Lease)
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				for time.Now().Before(until) {
					if err := claim.Prove(); err != nil {
						t.Error(err)
						return
					}
					time.Sleep(Lease / 100)
				}
			})
		}
		group.Wait()
		return ctx.Err()
	}))
	must(t, claim.Prove())
	must(t, claim.Done(t.Context()))
}

func proveRanOut(t *testing.T, box Box) {
	must(t, box.Offer(t.Context(), exampleJob("job-1", "cpu")))
	claim := take(t, box, "cpu")
	time.Sleep(Lease)
	wantError(t, claim.Prove(), events.ErrLeaseLost)
}

func proveTaken(t *testing.T, box Box) {
	must(t, box.Offer(t.Context(), exampleJob("job-1", "cpu")))
	zombie := take(t, box, "cpu")
	owner := take(t, box, "cpu")
	wantError(t, zombie.Prove(), events.ErrLeaseLost)
	must(t, owner.Prove())
}

// proveStolen writes another holder into the entry, as nobody may while the lease is held.
func proveStolen(t *testing.T, box Box) {
	must(t, box.Offer(t.Context(), exampleJob("job-1", "cpu")))
	claim := take(t, box, "cpu")
	err := claim.Hold(t.Context(), func(ctx context.Context) error {
		steal(t, box)
		<-ctx.Done()
		wantError(t, context.Cause(ctx), events.ErrLeaseLost)
		wantError(t, claim.Prove(), events.ErrLeaseLost)
		return nil
	})
	wantError(t, err, events.ErrLeaseLost)
	wantError(t, claim.Done(t.Context()), events.ErrLeaseLost)
}

// steal tries until no heartbeat is in its way.
func steal(t *testing.T, box Box) {
	t.Helper()
	leases := open(t, box, events.RegisterLeases)
	for {
		entry, err := leases.Get(t.Context(), "job-1")
		must(t, err)
		var lease events.Lease
		must(t, json.Unmarshal(entry.Value, &lease))
		lease.Holder = "thief"
		value, err := json.Marshal(lease)
		must(t, err)
		if _, err = leases.Update(t.Context(), "job-1", value, entry.Revision); err == nil {
			return
		}
		wantError(t, err, events.ErrConflict)
	}
}

func proveSettled(t *testing.T, box Box) {
	for _, settled := range []func(events.Claim) error{
		func(claim events.Claim) error { return claim.Done(t.Context()) },
		func(claim events.Claim) error { return claim.Never(t.Context(), events.DeadReason{Message: "bad"}) },
		func(claim events.Claim) error { return claim.Later(t.Context(), 0, events.FailureModule, "why") },
	} {
		must(t, box.Offer(t.Context(), exampleJob("job-1", "cpu")))
		claim := take(t, box, "cpu")
		must(t, settled(claim))
		wantError(t, claim.Prove(), events.ErrLeaseLost)
	}
}

// proveZombie is a process that was frozen in the middle of its work: nothing has told it that its ctx is over, but asking does.
func proveZombie(t *testing.T, box Box) {
	must(t, box.Offer(t.Context(), exampleJob("job-1", "cpu")))
	zombie := take(t, box, "cpu")
	effects := 0
	for range 2 { // it is frozen before the second
		if zombie.Prove() == nil {
			effects++
		}
		time.Sleep(Lease)
	}
	if effects != 1 {
		t.Errorf("%d effects, want the first only", effects)
	}
	must(t, take(t, box, "cpu").Done(t.Context()))
}
