package bustest

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
)

func leaseTests() map[string]func(*testing.T, Bus) {
	return map[string]func(*testing.T, Bus){
		"a held job is nobody else's, however long it takes":          holdLong,
		"holding returns what the work returned":                      holdReturns,
		"work goes on to hold its lease while it winds down":          holdWindingDown,
		"a job whose worker died goes to another":                     takeOver,
		"each attempt that died is counted as unavailable":            takeOverCounted,
		"a worker that woke too late settles nothing":                 zombieSettles,
		"a worker that wakes too late loses its lease while it works": zombieHolds,
		"a lease that nobody can read is lost, and waited out":        garbage,
		"an attempt is lost until its worker reports":                 lostAttempts,
	}
}

func holdLong(t *testing.T, bus Bus) {
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
	claim := take(t, bus, "cpu")
	err := claim.KeepAlive(t.Context(), func(ctx context.Context) error {
		_, err := bus.Claim(ctx, events.FunctionTrain, []string{"cpu"}, 5*Lease/2)
		wantError(t, err, events.ErrEmpty)
		return ctx.Err()
	})
	must(t, err)
	must(t, claim.Ack(t.Context()))
	takeNothing(t, bus, "cpu")
}

func holdReturns(t *testing.T, bus Bus) {
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
	claim := take(t, bus, "cpu")
	boom := errors.New("boom")
	wantError(t, claim.KeepAlive(t.Context(), func(context.Context) error { return boom }), boom)
	must(t, claim.KeepAlive(t.Context(), func(context.Context) error { return nil }))
	must(t, claim.Ack(t.Context()))
}

// holdWindingDown stops the worker, whose work then takes longer than a lease to return.
func holdWindingDown(t *testing.T, bus Bus) {
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
	claim := take(t, bus, "cpu")
	ctx, stop := context.WithCancel(t.Context())
	stopped := errors.New("checkpoint written")
	err := claim.KeepAlive(ctx, func(ctx context.Context) error {
		stop()
		<-ctx.Done()
		_, err := bus.Claim(t.Context(), events.FunctionTrain, []string{"cpu"}, 3*Lease/2)
		wantError(t, err, events.ErrEmpty)
		return stopped
	})
	wantError(t, err, stopped)
	must(t, claim.Nak(t.Context(), 0, events.FailureUnavailable, "why"))
	if got := take(t, bus, "cpu").Attempt(); got.Number != 2 || got.Failures[events.FailureUnavailable] != 1 {
		t.Errorf("next attempt: %+v", got)
	}
}

// takeOver lets a worker die: it has claimed the job and sends no heartbeat.
func takeOver(t *testing.T, bus Bus) {
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
	began := time.Now()
	dead := take(t, bus, "cpu")
	next := take(t, bus, "cpu")
	if took := time.Since(began); took < Lease {
		t.Errorf("taken over after %s, before the lease of %s had run out", took, Lease)
	}
	if next.Attempt().ID == dead.Attempt().ID || next.Message().Sequence != dead.Message().Sequence {
		t.Errorf("attempt %+v follows %+v", next.Attempt(), dead.Attempt())
	}
	must(t, next.Ack(t.Context()))
}

func takeOverCounted(t *testing.T, bus Bus) {
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
	must(t, take(t, bus, "cpu").Nak(t.Context(), 0, events.FailureModule, "why"))
	take(t, bus, "cpu")
	got := take(t, bus, "cpu").Attempt()
	want := map[events.FailureKind]int{events.FailureModule: 1, events.FailureUnavailable: 1}
	wantSame(t, got.Failures, want)
	if got.Number != 3 {
		t.Errorf("attempt number %d, want 3", got.Number)
	}
}

func zombieSettles(t *testing.T, bus Bus) {
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
	zombie := take(t, bus, "cpu")
	owner := take(t, bus, "cpu")
	err := owner.KeepAlive(t.Context(), func(context.Context) error {
		wantError(t, zombie.Ack(t.Context()), events.ErrLeaseLost)
		wantError(t, zombie.Nak(t.Context(), 0, events.FailureModule, "why"), events.ErrLeaseLost)
		wantError(t, zombie.Term(t.Context(), events.DeadReason{Message: "late"}), events.ErrLeaseLost)
		_, err := bus.Claim(t.Context(), events.FunctionTrain, []string{"cpu"}, Lease)
		wantError(t, err, events.ErrEmpty)
		return nil
	})
	must(t, err)
	// If the zombie had removed the message, it would not be redelivered.
	must(t, owner.Nak(t.Context(), 0, events.FailureCrash, "why"))
	if got := take(t, bus, "cpu").Attempt().Failures[events.FailureModule]; got != 0 {
		t.Error("the zombie's failure was counted")
	}
	for _, deadLetter := range deadLetters(t, bus) {
		t.Errorf("the zombie dead-lettered %+v", deadLetter)
	}
}

func zombieHolds(t *testing.T, bus Bus) {
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
	zombie := take(t, bus, "cpu")
	must(t, take(t, bus, "cpu").Ack(t.Context()))
	err := zombie.KeepAlive(t.Context(), func(context.Context) error {
		t.Error("work began on a lost lease")
		return nil
	})
	wantError(t, err, events.ErrLeaseLost)
}

// garbage is written over a lease by a client that should not write there.
func garbage(t *testing.T, bus Bus) {
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
	claim := take(t, bus, "cpu")
	leases := open(t, bus, events.KVLeases)
	var began time.Time
	err := claim.KeepAlive(t.Context(), func(ctx context.Context) error {
		entry, err := leases.Get(t.Context(), "job-1")
		must(t, err)
		began = time.Now()
		_, err = leases.Update(t.Context(), "job-1", []byte("\x00garbage"), entry.Revision)
		must(t, err)
		<-ctx.Done()
		return ctx.Err()
	})
	wantError(t, err, events.ErrLeaseLost)
	next := take(t, bus, "cpu")
	if took := time.Since(began); took < Lease {
		t.Errorf("taken over after %s, before a lease of %s had run out", took, Lease)
	}
	if next.Attempt().Number != 2 {
		t.Errorf("after an attempt that nobody knows comes %+v", next.Attempt())
	}
	must(t, next.Ack(t.Context()))
}

// lostAttempts makes the worker of a lost attempt report in the lease while another one holds it,
// and continues to.
func lostAttempts(t *testing.T, bus Bus) {
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
	first := take(t, bus, "cpu").Attempt()
	second := take(t, bus, "cpu")
	if lost := second.Attempt().Lost; first.Lost != 0 || lost != 1 {
		t.Errorf("after %d lost attempts, and after one more %d", first.Lost, lost)
	}
	must(t, second.KeepAlive(t.Context(), func(ctx context.Context) error {
		survived(t, bus, first.ID)
		_, err := bus.Claim(ctx, events.FunctionTrain, []string{"cpu"}, 3*Lease/2)
		wantError(t, err, events.ErrEmpty)
		return ctx.Err()
	}))
	must(t, second.Nak(t.Context(), 0, events.FailureUnavailable, "its worker was drained"))
	third := take(t, bus, "cpu")
	if lost := third.Attempt().Lost; lost != 0 {
		t.Errorf("%d lost attempts after the worker has reported, and another was drained", lost)
	}
	must(t, third.Ack(t.Context()))
	takeNothing(t, bus, "cpu")
}

// survived reports in the lease of job-1 that the worker of an attempt is alive.
func survived(t *testing.T, bus Bus, attempt string) {
	t.Helper()
	leases := open(t, bus, events.KVLeases)
	for {
		entry, err := leases.Get(t.Context(), "job-1")
		must(t, err)
		lease, err := events.DecodeLease(entry)
		must(t, err)
		lease, changed := lease.Survived(attempt, "")
		if !changed {
			t.Error("the lease does not know the attempt")
			return
		}
		value, err := json.Marshal(lease)
		must(t, err)
		if _, err = leases.Update(t.Context(), "job-1", value, entry.Revision); !errors.Is(err, events.ErrConflict) {
			must(t, err)
			return
		}
	}
}
