package dispatch_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/plan"
)

func TestALostJobOfARunThatHasAPlaceIsMissedAtOnce(t *testing.T) {
	t.Parallel()
	box, d := setup(t, fmt.Sprintf(limited, "1"))
	arrive(t, box, d, "a", "b")
	wantJobs(t, box, "it vanishes from the queue", "a")
	sweep(t, d)
	again := wantJobs(t, box, "swept", "a")
	finish(t, box, d, again[0])
	wantJobs(t, box, "a is done", "b")
}

// missed is how long a job is gone before someone looks for it, and a bit.
const missed = 11 * time.Minute

func TestALostJobIsMissedAfterAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		box, d := setup(t, alone)
		arrive(t, box, d, "lost", "done", "told before it was marked")
		first := wantJobs(t, box, "they vanish from the queue", "lost", "done", "told before it was marked")
		finish(t, box, d, first[1])
		if _, err := box.Publish(t.Context(), outcomeOf(first[2])); err != nil { // nobody handles it
			t.Fatal(err)
		}
		sweep(t, d)
		wantJobs(t, box, "too early to worry")
		for range 3 {
			time.Sleep(missed)
			sweep(t, d)
			if got := wantJobs(t, box, "later", "lost"); got[0].ID != first[0].ID {
				t.Errorf("job %s, it was %s", got[0].ID, first[0].ID)
			}
			sweep(t, d)
			wantJobs(t, box, "looked at before")
		}
		for _, run := range []string{"done", "told before it was marked"} {
			if join := joinOf(t, box, run); join.Outcome == 0 {
				t.Errorf("%s: nothing is noted of what came of it: %+v", run, join)
			}
		}
	})
}

func TestAJobThatWasAskedForAgainIsMissedAsItWasAskedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		box, d := setup(t, alone)
		arrive(t, box, d, "monday")
		finish(t, box, d, wantJobs(t, box, "at first", "monday")[0])
		again, err := d.Again(t.Context(), "penguin", "monday", plan.Again{Generation: 2, Salt: "salt", Request: "replay-1"})
		if err != nil {
			t.Fatal(err)
		}
		wantJobs(t, box, "it vanishes from the queue", "monday")
		time.Sleep(missed)
		sweep(t, d)
		if got := wantJobs(t, box, "missed", "monday")[0]; got.ID != again.ID || got.Generation != 2 || got.Salt != "salt" || got.Request != "replay-1" {
			t.Errorf("job %+v, want %+v", got, again)
		}
	})
}

func TestASweepLooksForSoManyJobsAndNoMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		box, d := setup(t, alone)
		for i := range 250 {
			publish(t, box, fmt.Sprint(i), "t", transform())
		}
		drain(t, d)
		jobs(t, box)
		time.Sleep(missed)
		var found []int
		for range 4 {
			sweep(t, d)
			found = append(found, len(jobs(t, box)))
		}
		if got := fmt.Sprint(found); got != "[100 100 50 0]" {
			t.Errorf("%s jobs were looked for", got)
		}
	})
}

// Only a worker that finds its job cancelled tells so: cancelling a job that the bus has lost must not come to nothing.
func TestCancelPutsALostJobBackForAWorkerToCallOff(t *testing.T) {
	t.Parallel()
	box, d := setup(t, fmt.Sprintf(limited, "1"))
	arrive(t, box, d, "a")
	lost := wantJobs(t, box, "it vanishes from the queue", "a")[0]
	if got, err := dispatch.Cancel(t.Context(), box, "penguin", "a"); err != nil || got.Job != lost.ID {
		t.Fatalf("%+v, %v", got, err)
	}
	claim, err := box.Take(t.Context(), events.FunctionTrain, []string{"cpu"}, 0)
	if err != nil || !claim.Attempt().Cancelled {
		t.Errorf("%v, %v; want a cancelled job for a worker", claim, err)
	}
}

func TestCancelOfALostJobThatCanNotBeMadeSaysSo(t *testing.T) {
	t.Parallel()
	box, d := setup(t, alone)
	arrive(t, box, d, "monday")
	lost := wantJobs(t, box, "it vanishes from the queue", "monday")[0]
	spoil(t, box, "monday", fmt.Sprintf(`{"pipeline":"penguin","run":"monday","state":"dispatched","revision":999,"job":%q,"facts":[{"sequence":1}]}`, lost.ID))
	_, err := dispatch.Cancel(t.Context(), box, "penguin", "monday")
	if err == nil || errors.Is(err, dispatch.ErrTooLate) || !strings.Contains(err.Error(), "revision 999") {
		t.Errorf("got %v", err)
	}
}
