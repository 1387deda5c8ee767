package dispatch_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

var replayed = join.Retry{Salt: "salt", Request: "replay-1"}

// The outcome of a run's first job is not the outcome of a job that is requested while the first is
// in progress: if the queue loses the second, it is enqueued again.
func TestTheOutcomeOfAnEarlierJobIsNoneOfALaterOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bus, d := setup(t, alone)
		arrive(t, bus, d, "monday")
		first := wantJobs(t, bus, "at first", "monday")[0]
		second, err := d.Retry(t.Context(), "penguin", "monday", events.FunctionTrain, replayed)
		if err != nil || second.ID == first.ID {
			t.Fatalf("asked for job %s again: %s, %v", first.ID, second.ID, err)
		}
		wantJobs(t, bus, "lost by the queue", "monday")
		finish(t, bus, d, first)
		if j := joinOf(t, bus, "monday"); j.Current().Job != second.ID || j.Current().Outcome != 0 {
			t.Errorf("the join names job %s with outcome %d, want %s with none", j.Current().Job, j.Current().Outcome, second.ID)
		}
		time.Sleep(missed)
		sweep(t, d)
		wantJobs(t, bus, "enqueued again", "monday")
	})
}

func TestAJobThatIsAskedForAgainCanBeCancelledAfterTheFirstOneEnded(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, alone)
	arrive(t, bus, d, "monday")
	first := wantJobs(t, bus, "at first", "monday")[0]
	second, err := d.Retry(t.Context(), "penguin", "monday", events.FunctionTrain, replayed)
	if err != nil {
		t.Fatal(err)
	}
	finish(t, bus, d, first)
	if got, err := dispatch.Cancel(t.Context(), bus, "penguin", "monday"); err != nil || got.Job != second.ID {
		t.Errorf("cancelled %+v, %v; want job %s", got, err, second.ID)
	}
}

// An outcome that is recorded while another job of the run is requested is still that of the
// earlier job.
func TestAnOutcomeNotedAsAJobIsAskedForAgainIsThatOfTheEarlierOne(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]join.Retry{"another job": replayed, "the same job": {Request: "replay-1"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				bus, d := setup(t, alone)
				arrive(t, bus, d, "monday")
				first := wantJobs(t, bus, "at first", "monday")[0]
				if _, err := bus.Publish(t.Context(), outcomeOf(first)); err != nil {
					t.Fatal(err)
				}
				// Records the outcome between read and write.
				racing := &interrupted{Memory: bus, before: func() { drain(t, d) }}
				other, err := dispatch.New(t.Context(), racing, nil)
				if err == nil {
					_, err = other.Retry(t.Context(), "penguin", "monday", events.FunctionTrain, again)
				}
				if err != nil {
					t.Fatal(err)
				}
				wantJobs(t, bus, "lost by the queue", "monday")
				time.Sleep(missed)
				sweep(t, d)
				wantJobs(t, bus, "enqueued again", "monday")
			})
		})
	}
}

// An event that is delivered once more, after the bus has lost the join of its run, makes no second
// job for a run that has its model, even if its pipeline has changed.
func TestARunWithAModelAndALostJoinGetsNoSecondJob(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, alone)
	arrive(t, bus, d, "monday")
	finish(t, bus, d, wantJobs(t, bus, "at first", "monday")[0])
	joins, err := bus.KV(t.Context(), events.KVJoins)
	if err != nil {
		t.Fatal(err)
	}
	entry, err := joins.Get(t.Context(), dispatch.JoinKey("penguin", "monday"))
	if err == nil {
		err = joins.Delete(t.Context(), entry.Key, entry.Revision)
	}
	if err != nil {
		t.Fatal(err)
	}
	apply(t, bus, strings.Replace(alone, "num_steps: 1", "num_steps: 2", 1))
	for recorded, err := range bus.Read(t.Context(), events.Query{Pipeline: "penguin", Run: "monday", Kinds: []events.Kind{events.KindTransformReady}}) {
		if err == nil {
			err = d.Handle(t.Context(), recorded)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	wantJobs(t, bus, "delivered again")
	if j := joinOf(t, bus, "monday"); j.State != join.Dispatched || j.Current().Outcome == 0 {
		t.Errorf("the join is %+v", j)
	}
}
