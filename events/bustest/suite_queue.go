package bustest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
)

func queueTests() map[string]func(*testing.T, Bus) {
	return map[string]func(*testing.T, Bus){
		"a job is offered once":                                  offerOnce,
		"a job that was done may be offered again":               offerAgain,
		"a job can be seen until it has left the queue":          seenWhileQueued,
		"an invalid job is not offered":                          offerInvalid,
		"a job is taken whole, by one":                           takeOne,
		"jobs are taken one at a time":                           takeNoMore,
		"a worker takes its function and classes only":           takeClasses,
		"many workers take many jobs, each once":                 takeTogether,
		"taking waits for a job":                                 takeWaits,
		"taking ends with its context":                           takeCancelled,
		"a class is a name, and there must be one":               takeNoClass,
		"a message that is no job can be dead-lettered":          takeInvalid,
		"a job under another's subject is no job":                takeMisplaced,
		"a job that was handed back is counted by cause":         laterCounts,
		"a job handed back with a delay comes after it":          laterWaits,
		"a job that can never be done is dead-lettered verbatim": termDeadLetters,
		"a job dead-lettered before, with causes, keeps them":    neverKeepsFirst,
		"a job that was done leaves no lease behind":             doneLeavesNothing,
		"a settled claim can't be settled again":                 settledOnce,
		"an attempt that was handed back can't be settled":       settledAfterLater,
	}
}

func offerOnce(t *testing.T, bus Bus) {
	for range 3 {
		must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
	}
	claim := take(t, bus, "cpu")
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu"))) // it runs
	must(t, claim.Ack(t.Context()))
	takeNothing(t, bus, "cpu")
}

func offerAgain(t *testing.T, bus Bus) {
	for range 2 {
		must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
		claim := take(t, bus, "cpu")
		if got := claim.Attempt(); got.Number != 1 || len(got.Failures) != 0 {
			t.Errorf("attempt %+v of a new job, want the first", got)
		}
		must(t, claim.Ack(t.Context()))
	}
}

func seenWhileQueued(t *testing.T, bus Bus) {
	_, err := bus.Queued(t.Context(), "job-1")
	wantError(t, err, events.ErrNotFound)
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
	must(t, bus.Enqueue(t.Context(), exampleJob("job-2", "cpu")))
	waiting, err := bus.Queued(t.Context(), "job-1")
	must(t, err)
	claim := take(t, bus, "cpu")
	taken, err := bus.Queued(t.Context(), "job-1")
	must(t, err)
	wantSame(t, waiting, claim.Message())
	wantSame(t, taken, claim.Message())
	must(t, claim.Ack(t.Context()))
	_, err = bus.Queued(t.Context(), "job-1")
	wantError(t, err, events.ErrNotFound)
	_, err = bus.Queued(t.Context(), "no.job")
	wantInvalid(t, err, "job")
}

func offerInvalid(t *testing.T, bus Bus) {
	job := exampleJob("job-1", "cpu")
	job.Class = "no such.class"
	wantInvalid(t, bus.Enqueue(t.Context(), job), "class")
	takeNothing(t, bus, "cpu")
}

func takeOne(t *testing.T, bus Bus) {
	want := exampleJob("job-1", "cpu")
	must(t, bus.Enqueue(t.Context(), want))
	claim := take(t, bus, "cpu")
	got, err := claim.Job()
	must(t, err)
	wantSame(t, got, want)
	if attempt := claim.Attempt(); attempt.Number != 1 || attempt.ID == "" || len(attempt.Failures) != 0 {
		t.Errorf("attempt %+v, want the first, with an id", attempt)
	}
	if message := claim.Message(); message.Stream != "JOBS" || message.Subject != events.JobSubject(want) || len(message.Body) == 0 {
		t.Errorf("message %+v", message)
	}
	takeNothing(t, bus, "cpu")
}

func takeNoMore(t *testing.T, bus Bus) {
	for i := range 3 {
		must(t, bus.Enqueue(t.Context(), exampleJob(fmt.Sprintf("job-%d", i), "cpu")))
	}
	first := take(t, bus, "cpu") // if it claimed more than one, the rest would be missing below
	must(t, first.KeepAlive(t.Context(), func(context.Context) error {
		for range 2 {
			must(t, take(t, bus, "cpu").Ack(t.Context()))
		}
		return nil
	}))
	must(t, first.Ack(t.Context()))
}

func takeClasses(t *testing.T, bus Bus) {
	tune := exampleJob("job-tune", "cpu")
	tune.Function = events.FunctionTune
	for _, job := range []events.Job{tune, exampleJob("job-gpu", "gpu"), exampleJob("job-cpu", "cpu"), exampleJob("job-tpu", "tpu")} {
		must(t, bus.Enqueue(t.Context(), job))
	}
	// In any order: a request for one class may return nothing on a busy bus.
	taken := map[string]bool{}
	for range 2 {
		claim := take(t, bus, "cpu", "gpu")
		job, err := claim.Job()
		must(t, err)
		taken[job.ID] = true
		must(t, claim.Ack(t.Context()))
	}
	if !taken["job-cpu"] || !taken["job-gpu"] {
		t.Errorf("took %v, want job-cpu and job-gpu", taken)
	}
	takeNothing(t, bus, "cpu", "gpu")
	claim := take(t, bus, "tpu") // a class that has had no worker
	must(t, claim.Ack(t.Context()))
}

func takeTogether(t *testing.T, bus Bus) {
	const jobs, workers = 20, 4
	for i := range jobs {
		must(t, bus.Enqueue(t.Context(), exampleJob(fmt.Sprintf("job-%d", i), "cpu")))
	}
	var mu sync.Mutex
	seen := map[string]int{}
	done := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(seen) == jobs
	}
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for deadline := time.Now().Add(soon); time.Now().Before(deadline) && !done(); {
				claim, err := bus.Claim(t.Context(), events.FunctionTrain, []string{"cpu"}, now)
				if errors.Is(err, events.ErrEmpty) {
					continue
				}
				job, jobErr := claim.Job()
				if err := errors.Join(err, jobErr, claim.Ack(t.Context())); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				seen[job.ID]++
				mu.Unlock()
			}
		})
	}
	group.Wait()
	for id, times := range seen {
		if times != 1 {
			t.Errorf("%s was done %d times", id, times)
		}
	}
	if len(seen) != jobs {
		t.Errorf("%d jobs were done, want %d", len(seen), jobs)
	}
	takeNothing(t, bus, "cpu")
}

func takeWaits(t *testing.T, bus Bus) {
	taken := make(chan error)
	go func() {
		claim, err := bus.Claim(t.Context(), events.FunctionTrain, []string{"cpu", "gpu"}, soon)
		if err == nil {
			err = claim.Ack(t.Context())
		}
		taken <- err
	}()
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "gpu")))
	must(t, <-taken)
}

func takeCancelled(t *testing.T, bus Bus) {
	cause := errors.New("worker stops")
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error)
	go func() {
		_, err := bus.Claim(ctx, events.FunctionTrain, []string{"cpu"}, soon)
		ended <- err
	}()
	cancel(cause)
	wantError(t, <-ended, cause)
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
	take(t, bus, "cpu") // the stopped one keeps nothing
}

func takeNoClass(t *testing.T, bus Bus) {
	for _, classes := range [][]string{nil, {"cpu", "*"}, {">"}, {""}} {
		_, err := bus.Claim(t.Context(), events.FunctionTrain, classes, soon)
		wantInvalid(t, err, "class")
	}
}

func takeInvalid(t *testing.T, bus Bus) {
	must(t, bus.Inject(t.Context(), "jobs.train.cpu.odd", map[string][]string{"X": {"1"}}, []byte(`{"id": 3}`)))
	claim := take(t, bus, "cpu")
	_, err := claim.Job()
	wantInvalid(t, err, "id")
	reason := events.DeadReason{Kind: events.FailureInput, Message: err.Error(), Field: "id"}
	must(t, claim.Term(t.Context(), reason))
	wantDead(t, bus, events.DeadLetter{Message: claim.Message(), Reason: reason})
	takeNothing(t, bus, "cpu")
}

func takeMisplaced(t *testing.T, bus Bus) {
	body, err := encode(t.Context(), exampleJob("job-1", "gpu"))
	must(t, err)
	must(t, bus.Inject(t.Context(), "jobs.train.cpu.job-1", nil, body))
	_, err = take(t, bus, "cpu").Job()
	wantInvalid(t, err, "NATS subject")
}

func laterCounts(t *testing.T, bus Bus) {
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
	seen := map[string]bool{}
	for i, cause := range []events.FailureKind{events.FailureModule, events.FailureCrash, events.FailureModule} {
		claim := take(t, bus, "cpu")
		if got := claim.Attempt(); got.Number != i+1 || seen[got.ID] {
			t.Errorf("attempt %+v, want number %d and an id of its own", got, i+1)
		}
		seen[claim.Attempt().ID] = true
		must(t, claim.Nak(t.Context(), 0, cause, "it was try "+claim.Attempt().ID))
		entry, err := open(t, bus, events.KVLeases).Get(t.Context(), "job-1")
		must(t, err)
		lease, err := events.DecodeLease(entry)
		must(t, err)
		wantSame(t, lease.Ended, &events.Ended{Attempt: i + 1, Kind: cause, Why: "it was try " + claim.Attempt().ID})
	}
	want := map[events.FailureKind]int{events.FailureModule: 2, events.FailureCrash: 1}
	wantSame(t, take(t, bus, "cpu").Attempt().Failures, want)
}

func laterWaits(t *testing.T, bus Bus) {
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
	must(t, take(t, bus, "cpu").Nak(t.Context(), 2*now, events.FailureUnavailable, "why"))
	takeNothing(t, bus, "cpu")
	take(t, bus, "cpu")
}

func termDeadLetters(t *testing.T, bus Bus) {
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
	claim := take(t, bus, "cpu")
	reason := events.DeadReason{Kind: events.FailureModule, Message: "Traceback:\n  boom"}
	must(t, claim.Term(t.Context(), reason))
	wantDead(t, bus, events.DeadLetter{Message: claim.Message(), Reason: reason})
	takeNothing(t, bus, "cpu")
	// It left the queue, so it may be added again.
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
	take(t, bus, "cpu")
}

func neverKeepsFirst(t *testing.T, bus Bus) {
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
	claim := take(t, bus, "cpu")
	deadLetter := events.DeadLetter{
		Message: claim.Message(),
		Reason:  events.DeadReason{Kind: events.FailureModule, Message: "boom"},
		Causes:  []events.Message{{Stream: "EVENTS", Sequence: 1, Subject: "events.x", Body: []byte("event")}},
	}
	must(t, bus.DeadLetter(t.Context(), deadLetter))
	must(t, claim.Term(t.Context(), deadLetter.Reason))
	wantDead(t, bus, deadLetter)
}

func doneLeavesNothing(t *testing.T, bus Bus) {
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
	must(t, take(t, bus, "cpu").Ack(t.Context()))
	leases, err := bus.KV(t.Context(), events.KVLeases)
	must(t, err)
	_, err = leases.Get(t.Context(), "job-1")
	wantError(t, err, events.ErrNotFound)
}

func settledOnce(t *testing.T, bus Bus) {
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
	claim := take(t, bus, "cpu")
	must(t, claim.Ack(t.Context()))
	wantError(t, claim.Ack(t.Context()), events.ErrLeaseLost)
	wantError(t, claim.Nak(t.Context(), 0, events.FailureModule, "why"), events.ErrLeaseLost)
	wantError(t, claim.Term(t.Context(), events.DeadReason{}), events.ErrLeaseLost)
}

func settledAfterLater(t *testing.T, bus Bus) {
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
	claim := take(t, bus, "cpu")
	must(t, claim.Nak(t.Context(), 0, events.FailureModule, "why"))
	wantError(t, claim.Ack(t.Context()), events.ErrLeaseLost)
	must(t, take(t, bus, "cpu").Ack(t.Context()))
}
