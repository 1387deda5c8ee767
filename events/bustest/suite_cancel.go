package bustest

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
)

func cancelTests() map[string]func(*testing.T, Bus) {
	return map[string]func(*testing.T, Bus){
		"cancelling a job while it is being done leaves nothing":        cancelWhileDone,
		"cancelling ends the work, and its lease stays ours":            cancelHeld,
		"an attempt that was cancelled can hand its job back":           cancelHandedBack,
		"a job cancelled while it waits says so when it is taken":       cancelWaiting,
		"a job can be cancelled again and by many":                      cancelTogether,
		"cancelling what is not on the queue leaves nothing":            cancelNothing,
		"cancelling needs the id of a job":                              cancelInvalid,
		"a cancelled job that was done leaves no lease behind":          cancelDone,
		"a cancelled job that was dead-lettered leaves no lease behind": cancelNever,
		"a job offered again knows nothing of a worker that died":       offerAfterDeath,
		"a job offered again can be cancelled whatever was left":        cancelAfterDeath,
		"cancelling counts as no attempt and keeps the counts":          cancelCounts,
		"a worker that died on a cancelled job leaves it to the next":   cancelThenDeath,
	}
}

// cancelWhileDone runs the cancellation and the end of the work in any order.
func cancelWhileDone(t *testing.T, bus Bus) {
	for range 20 {
		must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
		claim := take(t, bus, "cpu")
		wantFresh(t, claim)
		cancelled := make(chan error)
		go func() { cancelled <- bus.Cancel(t.Context(), "job-1") }()
		must(t, claim.Ack(t.Context()))
		must(t, <-cancelled)
		wantNoLease(t, bus)
	}
}

// heldUntilCancelled claims the job, cancels it while it is held, and calls settling in the rest of
// the work.
func heldUntilCancelled(t *testing.T, bus Bus, settling func(events.Claim)) {
	t.Helper()
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
	claim := take(t, bus, "cpu")
	calledOff := errors.New("called off")
	err := claim.KeepAlive(t.Context(), func(ctx context.Context) error {
		must(t, ctx.Err())
		must(t, bus.Cancel(t.Context(), "job-1"))
		select {
		case <-ctx.Done():
		case <-time.After(soon):
		}
		wantError(t, context.Cause(ctx), events.ErrCancelled)
		time.Sleep(3 * Lease / 2) // cancelling may take longer than a lease
		must(t, claim.Prove())
		return calledOff
	})
	wantError(t, err, calledOff)
	must(t, claim.Prove())
	settling(claim)
}

func cancelHeld(t *testing.T, bus Bus) {
	heldUntilCancelled(t, bus, func(claim events.Claim) {
		if claim.Attempt().Cancelled {
			t.Error("the attempt says that it was cancelled when it was taken")
		}
		must(t, claim.Ack(t.Context()))
	})
	takeNothing(t, bus, "cpu")
	wantNoLease(t, bus)
}

func cancelHandedBack(t *testing.T, bus Bus) {
	heldUntilCancelled(t, bus, func(claim events.Claim) { must(t, claim.Nak(t.Context(), 0, events.FailureUnavailable, "why")) })
	next := take(t, bus, "cpu")
	if got := next.Attempt(); !got.Cancelled || got.Number != 2 || got.Failures[events.FailureUnavailable] != 1 {
		t.Errorf("next attempt: %+v, want the second, cancelled", got)
	}
	must(t, next.Ack(t.Context()))
	wantNoLease(t, bus)
}

// cancelWaiting also checks that the work that reports the cancellation is not ended itself.
func cancelWaiting(t *testing.T, bus Bus) {
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
	must(t, bus.Cancel(t.Context(), "job-1"))
	claim := take(t, bus, "cpu")
	if got := claim.Attempt(); !got.Cancelled || got.Number != 1 || len(got.Failures) != 0 {
		t.Errorf("attempt %+v, want the first, cancelled", got)
	}
	must(t, claim.KeepAlive(t.Context(), func(ctx context.Context) error {
		must(t, bus.Cancel(t.Context(), "job-1"))
		time.Sleep(Lease)
		return context.Cause(ctx)
	}))
	must(t, claim.Ack(t.Context()))
	wantNoLease(t, bus)
}

func cancelTogether(t *testing.T, bus Bus) {
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
	claim := take(t, bus, "cpu")
	err := claim.KeepAlive(t.Context(), func(ctx context.Context) error {
		errs := make(chan error)
		for range 8 {
			go func() { errs <- bus.Cancel(t.Context(), "job-1") }()
		}
		for range 8 {
			must(t, <-errs)
		}
		<-ctx.Done()
		return nil
	})
	must(t, err)
	must(t, claim.Ack(t.Context()))
	wantNoLease(t, bus)
}

func cancelNothing(t *testing.T, bus Bus) {
	must(t, bus.Cancel(t.Context(), "job-1"))
	wantNoLease(t, bus)
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
	must(t, take(t, bus, "cpu").Ack(t.Context()))
	must(t, bus.Cancel(t.Context(), "job-1"))
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
	wantFresh(t, take(t, bus, "cpu"))
}

func cancelInvalid(t *testing.T, bus Bus) {
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
	for _, id := range []string{"", "*", ">", "job.1", "a b"} {
		wantInvalid(t, bus.Cancel(t.Context(), id), "job")
	}
	wantFresh(t, take(t, bus, "cpu"))
}

func cancelDone(t *testing.T, bus Bus) {
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
	claim := take(t, bus, "cpu")
	must(t, bus.Cancel(t.Context(), "job-1")) // no heartbeat that could see it
	must(t, claim.Ack(t.Context()))
	wantNoLease(t, bus)
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
	wantFresh(t, take(t, bus, "cpu"))
}

func cancelNever(t *testing.T, bus Bus) {
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
	claim := take(t, bus, "cpu")
	must(t, bus.Cancel(t.Context(), "job-1"))
	must(t, claim.Term(t.Context(), events.DeadReason{Kind: events.FailureInput, Message: "bad"}))
	wantNoLease(t, bus)
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
	wantFresh(t, take(t, bus, "cpu"))
}

// leftOver is the lease of a worker that took its message, the first, off the queue, and died
// before it removed the lease.
func leftOver(t *testing.T, bus Bus) {
	t.Helper()
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
	must(t, take(t, bus, "cpu").Ack(t.Context()))
	value, err := json.Marshal(events.Lease{
		Message: 1, Holder: "died", Number: 3, Failures: map[events.FailureKind]int{events.FailureModule: 2}, Cancelled: true,
	})
	must(t, err)
	_, err = open(t, bus, events.KVLeases).Create(t.Context(), "job-1", value)
	must(t, err)
}

func offerAfterDeath(t *testing.T, bus Bus) {
	leftOver(t, bus)
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
	wantFresh(t, take(t, bus, "cpu"))
}

func cancelAfterDeath(t *testing.T, bus Bus) {
	leftOver(t, bus)
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
	must(t, bus.Cancel(t.Context(), "job-1"))
	claim := take(t, bus, "cpu")
	if got := claim.Attempt(); !got.Cancelled || got.Number != 1 || len(got.Failures) != 0 {
		t.Errorf("attempt %+v, want the first, cancelled", got)
	}
	must(t, claim.Ack(t.Context()))
	wantNoLease(t, bus)
}

func cancelCounts(t *testing.T, bus Bus) {
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
	must(t, take(t, bus, "cpu").Nak(t.Context(), 0, events.FailureModule, "why"))
	must(t, bus.Cancel(t.Context(), "job-1"))
	got := take(t, bus, "cpu").Attempt()
	wantSame(t, got.Failures, map[events.FailureKind]int{events.FailureModule: 1})
	if !got.Cancelled || got.Number != 2 {
		t.Errorf("attempt %+v, want the second, cancelled", got)
	}
}

func cancelThenDeath(t *testing.T, bus Bus) {
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
	dead := take(t, bus, "cpu")
	must(t, bus.Cancel(t.Context(), "job-1"))
	next := take(t, bus, "cpu")
	if got := next.Attempt(); !got.Cancelled || got.Number != 2 || got.Failures[events.FailureUnavailable] != 1 {
		t.Errorf("attempt %+v follows %+v, want the second, cancelled", got, dead.Attempt())
	}
}

// wantFresh checks that a claim has neither earlier attempts nor a cancellation.
func wantFresh(t *testing.T, claim events.Claim) {
	t.Helper()
	if got := claim.Attempt(); got.Cancelled || got.Number != 1 || len(got.Failures) != 0 {
		t.Errorf("attempt %+v, want the first", got)
	}
}

// wantNoLease checks that there is no entry for job-1.
func wantNoLease(t *testing.T, bus Bus) {
	t.Helper()
	_, err := open(t, bus, events.KVLeases).Get(t.Context(), "job-1")
	wantError(t, err, events.ErrNotFound)
}
