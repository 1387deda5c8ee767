package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

func TestALostJobOfAnAdmittedRunIsEnqueuedAtOnce(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, fmt.Sprintf(limited, "1"))
	arrive(t, bus, d, "a", "b")
	wantJobs(t, bus, "it vanishes from the queue", "a")
	sweep(t, d)
	again := wantJobs(t, bus, "swept", "a")
	finish(t, bus, d, again[0])
	wantJobs(t, bus, "a is done", "b")
}

// missed is a little longer than a job is gone before a sweep rechecks it.
const missed = 11 * time.Minute

func TestALostJobIsEnqueuedAgainLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bus, d := setup(t, alone)
		arrive(t, bus, d, "lost", "done", "announced before it was marked")
		first := wantJobs(t, bus, "they vanish from the queue", "lost", "done", "announced before it was marked")
		finish(t, bus, d, first[1])
		// Not handled by any dispatcher.
		if _, err := bus.Publish(t.Context(), outcomeOf(first[2])); err != nil {
			t.Fatal(err)
		}
		sweep(t, d)
		wantJobs(t, bus, "too early to worry")
		for range 3 {
			time.Sleep(missed)
			sweep(t, d)
			if got := wantJobs(t, bus, "later", "lost"); got[0].ID != first[0].ID {
				t.Errorf("job %s, it was %s", got[0].ID, first[0].ID)
			}
			sweep(t, d)
			wantJobs(t, bus, "looked at before")
		}
		for _, run := range []string{"done", "announced before it was marked"} {
			if j := joinOf(t, bus, run); j.Current().Outcome == 0 {
				t.Errorf("%s: its outcome is not noted: %+v", run, j)
			}
		}
	})
}

func TestALostRetriedJobIsEnqueuedAsItWasRetried(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bus, d := setup(t, alone)
		arrive(t, bus, d, "monday")
		finish(t, bus, d, wantJobs(t, bus, "at first", "monday")[0])
		again, err := d.Retry(t.Context(), "penguin", "monday", events.FunctionTrain, join.Retry{Generation: 2, Salt: "salt", Request: "replay-1"})
		if err != nil {
			t.Fatal(err)
		}
		wantJobs(t, bus, "it vanishes from the queue", "monday")
		time.Sleep(missed)
		sweep(t, d)
		if got := wantJobs(t, bus, "missed", "monday")[0]; got.ID != again.ID || got.Generation != 2 || got.Salt != "salt" || got.Request != "replay-1" {
			t.Errorf("job %+v, want %+v", got, again)
		}
	})
}

func TestASweepRechecksALimitedNumberOfJobs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bus, d := setup(t, alone)
		for i := range 250 {
			publish(t, bus, fmt.Sprint(i), "t", transform())
		}
		drain(t, d)
		jobs(t, bus)
		time.Sleep(missed)
		var found []int
		for range 4 {
			sweep(t, d)
			found = append(found, len(jobs(t, bus)))
		}
		if got := fmt.Sprint(found); got != "[100 100 50 0]" {
			t.Errorf("%s jobs were rechecked", got)
		}
	})
}

// Only a worker that finds its job cancelled announces the end, so cancelling a job that the bus
// has lost enqueues it.
func TestCancelEnqueuesALostJobForAWorkerToEnd(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, fmt.Sprintf(limited, "1"))
	arrive(t, bus, d, "a")
	lost := wantJobs(t, bus, "it vanishes from the queue", "a")[0]
	if got, err := dispatch.Cancel(t.Context(), bus, "penguin", "a"); err != nil || got.Job != lost.ID {
		t.Fatalf("%+v, %v", got, err)
	}
	claim, err := bus.Claim(t.Context(), events.FunctionTrain, []string{"cpu"}, 0)
	if err != nil || !claim.Attempt().Cancelled {
		t.Errorf("%v, %v; want a cancelled job for a worker", claim, err)
	}
}

func TestCancelOfALostJobThatCanNotBeMadeSaysSo(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, alone)
	arrive(t, bus, d, "monday")
	lost := wantJobs(t, bus, "it vanishes from the queue", "monday")[0]
	spoil(t, bus, "monday", fmt.Sprintf(`{"pipeline":"penguin","run":"monday","state":"dispatched","events":[{"sequence":1}],"stages":[{"function":"train","through":1,"revision":999,"job":%q}]}`, lost.ID))
	_, err := dispatch.Cancel(t.Context(), bus, "penguin", "monday")
	if err == nil || errors.Is(err, dispatch.ErrTooLate) || !strings.Contains(err.Error(), "revision 999") {
		t.Errorf("got %v", err)
	}
}

// losing is a bus whose joins were set back to an earlier revision: looks is how many reads of one
// return that, until it is written again.
type losing struct {
	*bustest.Memory
	looks int
}

func (l *losing) KV(ctx context.Context, name string) (events.KV, error) {
	kv, err := l.Memory.KV(ctx, name)
	if name != events.KVJoins {
		return kv, err
	}
	return losingKV{kv, l}, err
}

type losingKV struct {
	events.KV
	l *losing
}

func (r losingKV) Get(ctx context.Context, key string) (events.Entry, error) {
	entry, err := r.KV.Get(ctx, key)
	if r.l.looks > 0 {
		r.l.looks--
		entry.Revision = 1
	}
	return entry, err
}

// After a loss of power a bus may have the events and not the joins.
func TestARunWhoseJoinTheBusHasLostIsHandledAgain(t *testing.T) {
	t.Parallel()
	const two = "pipeline: penguin\nmodule: builtin:dnn\ntrainer: {wait_for: [transform, hparams], hyperparameters: run}\n"
	for name, tc := range map[string]struct{ restarted, gone bool }{
		"its dispatcher starts again":                  {true, true},
		"its dispatcher misses what it wrote":          {false, true},
		"its dispatcher finds less than what it wrote": {false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			memory, _ := setup(t, two)
			bus := &losing{Memory: memory}
			d, err := dispatch.New(t.Context(), bus, nil)
			if err != nil {
				t.Fatal(err)
			}
			sweep(t, d) // the sweep at the start
			publish(t, bus, "whole", "t", transform())
			publish(t, bus, "half", "t", transform())
			drain(t, d)
			before := joinOf(t, bus, "half")
			publish(t, bus, "whole", "h", hparams("s3://bkt/hp"))
			publish(t, bus, "half", "h", hparams("s3://bkt/hp"))
			drain(t, d)
			first := wantJobs(t, bus, "at first", "whole", "half")
			if _, err := bus.Publish(t.Context(), outcomeOf(first[0])); err != nil {
				t.Fatal(err)
			}
			drain(t, d)
			put(t, bus, before)
			if tc.gone {
				lose(t, bus, "whole")
			} else {
				bus.looks = 2
			}
			if tc.restarted {
				if d, err = dispatch.New(t.Context(), bus, nil); err != nil {
					t.Fatal(err)
				}
			}
			sweep(t, d)
			if got := wantJobs(t, bus, "after its join was lost", "half"); got[0].ID != first[1].ID {
				t.Errorf("job %s, it was %s", got[0].ID, first[1].ID)
			}
			if j := joinOf(t, bus, "whole"); j.State != join.Dispatched || j.Current().Outcome == 0 {
				t.Errorf("the run that has its model is %+v", j)
			}
		})
	}
}

// lose removes the join of a run.
func lose(t *testing.T, bus events.Bus, run string) {
	t.Helper()
	joins, err := bus.KV(t.Context(), events.KVJoins)
	if err != nil {
		t.Fatal(err)
	}
	entry, err := joins.Get(t.Context(), dispatch.JoinKey("penguin", run))
	if err == nil {
		err = joins.Delete(t.Context(), entry.Key, entry.Revision)
	}
	if err != nil {
		t.Fatal(err)
	}
}
