package trainer_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

// visible returns the keys of outputs in the store: files and manifests of any attempt.
func visible(t *testing.T, b *bench) (keys []string) {
	t.Helper()
	for _, key := range b.keys(t, "penguin/Trainer/") {
		if !strings.Contains(key, "/.system/") || strings.HasSuffix(key, "/manifest.json") {
			keys = append(keys, key)
		}
	}
	return keys
}

// commitOf returns the execution's commit; the zero Commit if there is none.
func commitOf(t *testing.T, b *bench, execution string) storage.Commit {
	t.Helper()
	c, err := storage.CommitOf(t.Context(), b.store, storage.Ref{Bucket: "stoker", Key: "penguin/Trainer"}, execution)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func failedExecution(t *testing.T, err error) string {
	t.Helper()
	failure, ok := err.(*events.Failure)
	if !ok || failure.Execution == "" {
		t.Fatalf("failure %+v names no execution", err)
	}
	return failure.Execution
}

func TestACancelledJobLeavesNothingButItsCommit(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	g := &stepper{steps: 50, every: 10, after: func(_ context.Context, step int) error {
		if step == 37 {
			cancel(events.ErrCancelled)
		}
		return nil
	}}
	_, err := b.shift(t, b.store, g, "a1", 1).handle(ctx)
	if kindOf(err) != events.FailureCancelled {
		t.Fatalf("kind %q of %v", kindOf(err), err)
	}
	if left := visible(t, b); len(left) > 0 {
		t.Errorf("left %q", left)
	}
	if c := commitOf(t, b, failedExecution(t, err)); !c.Cancelled || c.Job != "j1" {
		t.Errorf("commit %+v", c)
	}
	// The same job obeys when it is delivered again.
	if _, err := b.shift(t, b.store, g, "a2", 2).handle(t.Context()); kindOf(err) != events.FailureCancelled || len(g.all()) != 37 {
		t.Errorf("delivered again: kind %q, %d steps", kindOf(err), len(g.all()))
	}
}

func TestACancelledJobTakesBackWhatItHasPublished(t *testing.T) {
	t.Parallel()
	for _, last := range []string{"saved_model.pb", "manifest.json", "commit.json"} {
		b := setup(t, writesModel)
		ctx, cancel := context.WithCancelCause(t.Context())
		store := watched{b.store, func(_, key string) {
			if strings.HasSuffix(key, last) {
				cancel(events.ErrCancelled) // and this write is not done
			}
		}}
		_, err := b.shift(t, store, b.runner, "a1", 1).handle(ctx)
		cancel(nil)
		if left := visible(t, b); kindOf(err) != events.FailureCancelled || len(left) > 0 {
			t.Errorf("cancelled at %s: kind %q of %v, left %q", last, kindOf(err), err, left)
		}
	}
}

func TestAJobThatWasCancelledBeforeItBeganDoesNoWork(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(j *events.Job){
		"as it is":            func(*events.Job) {},
		"its inputs are gone": func(j *events.Job) { j.Inputs.TransformGraph = "s3://stoker/nowhere" },
		"its spec is none":    func(j *events.Job) { j.Spec = []byte("{}") },
	} {
		b := setup(t, writesModel)
		s := b.shift(t, b.store, b.runner, "a1", 1)
		s.attempt.Cancelled = true
		spoil(&s.job)
		if _, err := s.handle(t.Context()); kindOf(err) != events.FailureCancelled || b.runner.runs.Load() > 0 || len(visible(t, b)) > 0 {
			t.Errorf("%s: kind %q of %v, %d trainings", name, kindOf(err), err, b.runner.runs.Load())
		}
	}
}

func TestACancelThatComesTooLatePublishesTheModel(t *testing.T) {
	t.Parallel()
	b := setup(t, writesModel)
	first, err := b.handle(t, job(t, "j1", "monday", spec), "a1")
	if err != nil {
		t.Fatal(err)
	}
	s := b.shift(t, b.store, b.runner, "a2", 2)
	s.attempt.Cancelled = true
	if got, err := s.handle(t.Context()); err != nil || got.Model.URI != first.Model.URI {
		t.Errorf("published %+v, %v", got, err)
	}
}

func TestAnotherJobOfACancelledExecutionIsDone(t *testing.T) {
	t.Parallel()
	b := setup(t, writesModel)
	s := b.shift(t, b.store, b.runner, "a1", 1)
	s.attempt.Cancelled = true
	_, err := s.handle(t.Context())
	execution := failedExecution(t, err)
	got, err := b.handle(t, job(t, "j2", "tuesday", spec), "b1")
	if err != nil || got.Execution != execution || got.Cached {
		t.Fatalf("published %+v, %v", got, err)
	}
	// The cancelled job does not remove that result, nor is it cancelled any longer: there is a
	// model.
	if again, err := s.handle(t.Context()); err != nil || again.Model.URI != got.Model.URI || !again.Cached {
		t.Errorf("published %+v, %v", again, err)
	}
}

func TestACancelIsOfOneJobNotOfTheExecutionThatItShares(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	cancelled := false
	g := &stepper{steps: 20, every: 10}
	// Tuesday's job is cancelled while Monday's trains.
	g.after = func(_ context.Context, step int) error {
		if step == 15 && !cancelled {
			cancelled = true
			s := b.shift(t, b.store, g, "b1", 1)
			s.job, s.attempt.Cancelled = job(t, "j2", "tuesday", spec), true
			if _, err := s.handle(t.Context()); kindOf(err) != events.FailureCancelled {
				t.Errorf("Tuesday: %v", err)
			}
		}
		return nil
	}
	got, err := b.shift(t, b.store, g, "a1", 1).handle(t.Context())
	if err != nil || !strings.HasSuffix(got.Model.URI, "/a1") {
		t.Fatalf("Monday: %+v, %v", got, err)
	}
	if c := commitOf(t, b, got.Execution); c.Cancelled || c.Job != "j1" {
		t.Errorf("commit %+v", c)
	}
}

// A cancellation arrives at any write of an attempt, and any conditional write of either may fail
// before or after it was done. Then the job is delivered again until it is settled. There is one
// outcome: a model and its commit, or nothing but a cancelled commit.
func TestACancelRacingACommitHasOneOutcome(t *testing.T) {
	t.Parallel()
	outcomes := map[bool]int{}
	for write := 1; write < 12; write++ {
		// A fault in one of the first three conditional writes: it is refused, or its answer is
		// lost.
		for fault := range 3 * 2 {
			name := fmt.Sprintf("cancelled at write %d, fault %d", write, fault)
			b := setup(t, writesModel)
			ctx, cancel := context.WithCancelCause(t.Context())
			seen := 0
			counted := watched{b.store, func(op, key string) {
				if strings.Contains(key, "/.system/") {
					if seen++; seen == write {
						cancel(events.ErrCancelled)
					}
				}
			}}
			spoilt := storagetest.Fault{Refuse: storage.ErrUnavailable}
			if fault%2 == 1 {
				spoilt = storagetest.Fault{LoseAnswer: true}
			}
			store := storagetest.Faulty(counted, storagetest.Nth(storagetest.OpPutIf, fault/2, spoilt))
			s := b.shift(t, store, b.runner, "a1", 1)
			got, err := s.handle(ctx)
			for n := 2; kindOf(err) == events.FailureUnavailable; n++ {
				if n > 5 {
					t.Fatalf("%s: never settled: %v", name, err)
				}
				s.attempt = events.Attempt{ID: fmt.Sprintf("a%d", n), Number: n, Cancelled: context.Cause(ctx) != nil}
				got, err = s.handle(t.Context())
			}
			cancel(nil)
			outcomes[err == nil]++
			checkOutcome(t, b, name, got, err)
		}
	}
	if outcomes[true] < 6 || outcomes[false] < 6 {
		t.Errorf("models and cancellations: %v: too few to mean anything", outcomes)
	}
}

func checkOutcome(t *testing.T, b *bench, name string, got *events.ModelTrained, err error) {
	t.Helper()
	if err == nil {
		_, m, err := storage.Committed(t.Context(), b.store, storage.Ref{Bucket: "stoker", Key: "penguin/Trainer"}, got.Execution)
		if err != nil || m.Outputs["model"].URI != got.Model.URI {
			t.Errorf("%s: published %s, committed %s, %v", name, got.Model.URI, m.Outputs["model"].URI, err)
		}
		return
	}
	if kindOf(err) != events.FailureCancelled {
		t.Errorf("%s: %v", name, err)
		return
	}
	if c := commitOf(t, b, failedExecution(t, err)); !c.Cancelled {
		t.Errorf("%s: said to be cancelled, but %+v", name, c)
	}
	// Another job of the same execution is not hindered by the objects that are left.
	if _, err := b.handle(t, job(t, "j9", "friday", spec), "z1"); err != nil {
		t.Errorf("%s: then %v", name, err)
	}
}
