package bustest

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
)

func proveTests() map[string]func(*testing.T, Bus) {
	return map[string]func(*testing.T, Bus){
		"a lease can be proved by anyone while it is held":      proveHeld,
		"a lease that ran out can't be proved":                  proveRanOut,
		"a lease that another took can't be proved":             proveTaken,
		"a lease written over by someone else is lost":          proveStolen,
		"what was settled can't be proved":                      proveSettled,
		"progress of a zombie's work stops where it must prove": proveZombie,
	}
}

// proveHeld calls Prove from other goroutines than the heartbeat's, for longer than a lease.
func proveHeld(t *testing.T, bus Bus) {
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
	claim := take(t, bus, "cpu")
	must(t, claim.Prove())
	must(t, claim.KeepAlive(t.Context(), func(ctx context.Context) error {
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
	must(t, claim.Ack(t.Context()))
}

func proveRanOut(t *testing.T, bus Bus) {
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
	claim := take(t, bus, "cpu")
	time.Sleep(Lease)
	wantError(t, claim.Prove(), events.ErrLeaseLost)
}

func proveTaken(t *testing.T, bus Bus) {
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
	zombie := take(t, bus, "cpu")
	owner := take(t, bus, "cpu")
	wantError(t, zombie.Prove(), events.ErrLeaseLost)
	must(t, owner.Prove())
}

// proveStolen writes another holder into the entry, which is forbidden while the lease is held.
func proveStolen(t *testing.T, bus Bus) {
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
	claim := take(t, bus, "cpu")
	err := claim.KeepAlive(t.Context(), func(ctx context.Context) error {
		steal(t, bus)
		<-ctx.Done()
		wantError(t, context.Cause(ctx), events.ErrLeaseLost)
		wantError(t, claim.Prove(), events.ErrLeaseLost)
		return nil
	})
	wantError(t, err, events.ErrLeaseLost)
	wantError(t, claim.Ack(t.Context()), events.ErrLeaseLost)
}

// steal tries until no heartbeat conflicts.
func steal(t *testing.T, bus Bus) {
	t.Helper()
	leases := open(t, bus, events.KVLeases)
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

func proveSettled(t *testing.T, bus Bus) {
	for _, settled := range []func(events.Claim) error{
		func(claim events.Claim) error { return claim.Ack(t.Context()) },
		func(claim events.Claim) error { return claim.Term(t.Context(), events.DeadReason{Message: "bad"}) },
		func(claim events.Claim) error { return claim.Nak(t.Context(), 0, events.FailureModule, "why") },
	} {
		must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
		claim := take(t, bus, "cpu")
		must(t, settled(claim))
		wantError(t, claim.Prove(), events.ErrLeaseLost)
	}
}

// proveZombie is a process that was frozen in the middle of its work: its ctx is not canceled yet,
// but Prove returns the error.
func proveZombie(t *testing.T, bus Bus) {
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
	zombie := take(t, bus, "cpu")
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
	must(t, take(t, bus, "cpu").Ack(t.Context()))
}
