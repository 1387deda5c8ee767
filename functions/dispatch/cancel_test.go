package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/eventstest"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/plan"
)

// called is how a cancelled run was told of: "" for not at all.
func called(t *testing.T, box events.Letterbox, run string) string {
	t.Helper()
	var all []string
	for _, fact := range failures(t, box, run) {
		data := fact.Data.(*events.TrainingFailed)
		all = append(all, string(data.Reason)+": "+data.Message)
	}
	return strings.Join(all, ", ")
}

func TestCancelEndsARunThatWaitsForFacts(t *testing.T) {
	t.Parallel()
	box, d := setup(t, joined)
	arrive(t, box, d, "monday")
	got, err := dispatch.Cancel(t.Context(), box, "penguin", "monday")
	if err != nil || got.Job != "" || called(t, box, "monday") != "cancelled: cancelled" {
		t.Errorf("%+v, %v, told %q", got, err, called(t, box, "monday"))
	}
	publish(t, box, "monday", "h", hparams("s3://bkt/hp"))
	drain(t, d)
	wantJobs(t, box, "afterwards")
	if _, err := dispatch.Cancel(t.Context(), box, "penguin", "monday"); !errors.Is(err, dispatch.ErrTooLate) {
		t.Errorf("cancelled twice: %v", err)
	}
}

func TestCancelEndsARunThatWaitsAtTheGate(t *testing.T) {
	t.Parallel()
	box, d := setup(t, fmt.Sprintf(limited, "1"))
	arrive(t, box, d, "a", "b", "c")
	got, err := dispatch.Cancel(t.Context(), box, "penguin", "b")
	if err != nil || got.Job != "" || called(t, box, "b") != "cancelled: cancelled" {
		t.Errorf("%+v, %v, told %q", got, err, called(t, box, "b"))
	}
	first := wantJobs(t, box, "at first", "a")
	finish(t, box, d, first[0])
	wantJobs(t, box, "a is done", "c")
}

func TestCancelAsksTheWorkerThatHasTheJob(t *testing.T) {
	t.Parallel()
	box, d := setup(t, alone)
	arrive(t, box, d, "monday")
	claim, err := box.Take(t.Context(), events.FunctionTrain, []string{"cpu"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	err = claim.Hold(t.Context(), func(ctx context.Context) error {
		for range 2 { // asking again is no mistake
			if got, err := dispatch.Cancel(t.Context(), box, "penguin", "monday"); err != nil || got.Job != joinOf(t, box, "monday").Job {
				t.Errorf("%+v, %v", got, err)
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(2 * time.Minute):
			return errors.New("nobody said so")
		}
	})
	if !errors.Is(err, events.ErrCancelled) {
		t.Errorf("the worker was told %v", err)
	}
	if told := called(t, box, "monday"); told != "" {
		t.Errorf("what came of the job is the worker's to tell, not %q", told)
	}
}

func TestItIsTooLateToCancelWhatHasAnOutcome(t *testing.T) {
	t.Parallel()
	box, d := setup(t, alone)
	arrive(t, box, d, "monday")
	finish(t, box, d, wantJobs(t, box, "at first", "monday")[0])
	if _, err := dispatch.Cancel(t.Context(), box, "penguin", "monday"); !errors.Is(err, dispatch.ErrTooLate) {
		t.Errorf("cancelled: %v", err)
	}
	job, err := d.Again(t.Context(), "penguin", "monday", plan.Again{Generation: 1})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := dispatch.Cancel(t.Context(), box, "penguin", "monday"); err != nil || got.Job != job.ID {
		t.Errorf("the job that was made again: %+v, %v; want %s", got, err, job.ID)
	}
}

func TestCancelOfWhatNobodyKnows(t *testing.T) {
	t.Parallel()
	box, _ := setup(t, alone)
	for _, name := range []string{"penguin", "pinguin"} {
		if _, err := dispatch.Cancel(t.Context(), box, name, "monday"); !errors.Is(err, events.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A dispatcher that died between offering the job and marking the run leaves a job on the queue that the join knows nothing of:
// cancelling must reach it.
func TestCancelReachesAJobThatNobodyMarked(t *testing.T) {
	t.Parallel()
	box, _ := setup(t, alone)
	publish(t, box, "monday", "t", transform())
	dying := newCrashing(box, 3, false, func(events.Job) {}) // join and offer; not the mark
	d, err := dispatch.New(t.Context(), dying, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Next(t.Context(), 0); !errors.Is(err, errCrashed) || joinOf(t, box, "monday").State != plan.Complete {
		t.Fatalf("%v, and the run is %s", err, joinOf(t, box, "monday").State)
	}
	got, err := dispatch.Cancel(t.Context(), box, "penguin", "monday")
	if err != nil || got.Job == "" {
		t.Fatalf("%+v, %v", got, err)
	}
	claim, err := box.Take(t.Context(), events.FunctionTrain, []string{"cpu"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if job := events.JobID(claim.Message().Subject); !claim.Attempt().Cancelled || job != got.Job {
		t.Errorf("job %s, %+v; cancelled was %s", job, claim.Attempt(), got.Job)
	}
}

// A dispatcher may be about to offer the job of a run that is ended at the gate in the same moment. Then it calls the job back.
func TestAJobThatWasOfferedTooLateIsCalledBack(t *testing.T) {
	t.Parallel()
	box, _ := setup(t, alone)
	publish(t, box, "monday", "t", transform())
	var cancelled error
	racing := newCrashing(box, -1, false, func(events.Job) { // right before the job is on the queue
		if err := dispatch.Pause(t.Context(), box, "penguin"); err != nil {
			t.Error(err)
		}
		_, cancelled = dispatch.Cancel(t.Context(), box, "penguin", "monday")
	})
	d, err := dispatch.New(t.Context(), racing, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Next(t.Context(), 0); err != nil || cancelled != nil {
		t.Fatal(err, cancelled)
	}
	if told := called(t, box, "monday"); told != "cancelled: cancelled" {
		t.Errorf("told %q", told)
	}
	claim, err := box.Take(t.Context(), events.FunctionTrain, []string{"cpu"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if !claim.Attempt().Cancelled {
		t.Error("the job is not called back")
	}
}

// And if it dies before it finds out, whoever is delivered the fact next calls the job back.
func TestAJobThatWasOfferedTooLateByTheDeadIsCalledBack(t *testing.T) {
	t.Parallel()
	box, d := setup(t, alone)
	publish(t, box, "monday", "t", transform())
	dying := newCrashing(box, 2, true, func(events.Job) { // join; then the offer, right after which it dies
		if err := dispatch.Pause(t.Context(), box, "penguin"); err != nil {
			t.Error(err)
		}
		if _, err := dispatch.Cancel(t.Context(), box, "penguin", "monday"); err != nil {
			t.Error(err)
		}
	})
	dead, err := dispatch.New(t.Context(), dying, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := dead.Next(t.Context(), 0); !errors.Is(err, errCrashed) {
		t.Fatal(err)
	}
	for r := range box.Read(t.Context(), events.Query{Run: "monday", Kinds: []events.Kind{events.KindTransformReady}}) {
		if err := d.Handle(t.Context(), r); err != nil { // it is delivered again
			t.Error(err)
		}
	}
	claim, err := box.Take(t.Context(), events.FunctionTrain, []string{"cpu"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if !claim.Attempt().Cancelled {
		t.Error("the job is not called back")
	}
}

// A run may get its job in the very moment in which it is ended. Then the job is cancelled instead, and only the worker tells.
func TestARunThatGetsItsJobWhileItIsEndedIsNotEnded(t *testing.T) {
	t.Parallel()
	box, d := setup(t, alone)
	if err := dispatch.Pause(t.Context(), box, "penguin"); err != nil {
		t.Fatal(err)
	}
	arrive(t, box, d, "monday")
	racing := &interrupted{Memory: box, before: func() {
		if err := dispatch.Resume(t.Context(), box, "penguin"); err != nil {
			t.Error(err)
		}
	}}
	got, err := dispatch.Cancel(t.Context(), racing, "penguin", "monday")
	if err != nil || got.Job != joinOf(t, box, "monday").Job || got.Job == "" {
		t.Errorf("%+v, %v", got, err)
	}
	if told := called(t, box, "monday"); told != "" {
		t.Errorf("told %q", told)
	}
}

// interrupted is a letterbox through which something happens right before the first write to a join.
type interrupted struct {
	*eventstest.Memory
	before func()
}

func (b *interrupted) Register(ctx context.Context, name string) (events.Register, error) {
	register, err := b.Memory.Register(ctx, name)
	if name != events.RegisterJoins {
		return register, err
	}
	return interruptedRegister{register, b}, err
}

type interruptedRegister struct {
	events.Register
	box *interrupted
}

func (r interruptedRegister) Update(ctx context.Context, key string, value []byte, at uint64) (uint64, error) {
	if before := r.box.before; before != nil {
		r.box.before = nil
		before()
	}
	return r.Register.Update(ctx, key, value, at)
}
