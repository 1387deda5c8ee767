package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/eventstest"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

// called returns how a cancelled run failed by the log: "" if it did not.
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
		t.Errorf("%+v, %v, failed with %q", got, err, called(t, box, "monday"))
	}
	publish(t, box, "monday", "h", hparams("s3://bkt/hp"))
	drain(t, d)
	wantJobs(t, box, "afterwards")
	if _, err := dispatch.Cancel(t.Context(), box, "penguin", "monday"); !errors.Is(err, dispatch.ErrTooLate) {
		t.Errorf("cancelled twice: %v", err)
	}
}

// Dispatchers do not handle events in the order of the log: the ending names what the log holds
// all the same.
func TestACancelledRunHasTheEventsOfTheLog(t *testing.T) {
	t.Parallel()
	box, d := setup(t, joined)
	publish(t, box, "monday", "t", transform())
	publish(t, box, "monday", "h", hparams("s3://bkt/hp"))
	for recorded, err := range box.Read(t.Context(), events.Query{Kinds: []events.Kind{events.KindHParamsReady}}) {
		if err == nil {
			err = d.Handle(t.Context(), recorded)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := dispatch.Cancel(t.Context(), box, "penguin", "monday"); err != nil {
		t.Fatal(err)
	}
	ended := joinOf(t, box, "monday")
	if len(ended.Events) != 2 || ended.Ending == nil || ended.Ending.Through != 2 {
		t.Errorf("the run has ended with %+v", ended)
	}
	drain(t, d)
	wantJobs(t, box, "afterwards")
}

func TestCancelEndsARunThatWaitsForAdmission(t *testing.T) {
	t.Parallel()
	box, d := setup(t, fmt.Sprintf(limited, "1"))
	arrive(t, box, d, "a", "b", "c")
	got, err := dispatch.Cancel(t.Context(), box, "penguin", "b")
	if err != nil || got.Job != "" || called(t, box, "b") != "cancelled: cancelled" {
		t.Errorf("%+v, %v, failed with %q", got, err, called(t, box, "b"))
	}
	first := wantJobs(t, box, "at first", "a")
	finish(t, box, d, first[0])
	wantJobs(t, box, "a is done", "c")
}

func TestCancelStopsTheWorkerThatHasTheJob(t *testing.T) {
	t.Parallel()
	box, d := setup(t, alone)
	arrive(t, box, d, "monday")
	claim, err := box.Take(t.Context(), events.FunctionTrain, []string{"cpu"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	err = claim.Hold(t.Context(), func(ctx context.Context) error {
		for range 2 { // cancelling again is no error
			if got, err := dispatch.Cancel(t.Context(), box, "penguin", "monday"); err != nil || got.Job != joinOf(t, box, "monday").Current().Job {
				t.Errorf("%+v, %v", got, err)
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(2 * time.Minute):
			return errors.New("not cancelled")
		}
	})
	if !errors.Is(err, events.ErrCancelled) {
		t.Errorf("the worker's context ended with %v", err)
	}
	if published := called(t, box, "monday"); published != "" {
		t.Errorf("the dispatcher published %q, which is the worker's to publish", published)
	}
}

func TestARunWithAnOutcomeCanNotBeCancelled(t *testing.T) {
	t.Parallel()
	box, d := setup(t, alone)
	arrive(t, box, d, "monday")
	finish(t, box, d, wantJobs(t, box, "at first", "monday")[0])
	if _, err := dispatch.Cancel(t.Context(), box, "penguin", "monday"); !errors.Is(err, dispatch.ErrTooLate) {
		t.Errorf("cancelled: %v", err)
	}
	job, err := d.Retry(t.Context(), "penguin", "monday", events.FunctionTrain, join.Retry{Generation: 1})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := dispatch.Cancel(t.Context(), box, "penguin", "monday"); err != nil || got.Job != job.ID {
		t.Errorf("the job that was made again: %+v, %v; want %s", got, err, job.ID)
	}
}

func TestCancelOfAnUnknownRun(t *testing.T) {
	t.Parallel()
	box, _ := setup(t, alone)
	for _, name := range []string{"penguin", "pinguin"} {
		if _, err := dispatch.Cancel(t.Context(), box, name, "monday"); !errors.Is(err, events.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A dispatcher that died between marking the run and enqueueing its job leaves a run whose job is
// not on the queue: cancelling enqueues it, for a worker to announce the end.
func TestCancelReachesAJobThatWasNotEnqueued(t *testing.T) {
	t.Parallel()
	box, _ := setup(t, alone)
	publish(t, box, "monday", "t", transform())
	diesUnconfirmed(t, box)
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

// diesUnconfirmed has a dispatcher take the next event, mark its run, and die before it enqueues
// the job.
func diesUnconfirmed(t *testing.T, box events.Letterbox) {
	t.Helper()
	const joinAndMark = 3 // the effect after these is the first that does not happen
	d, err := dispatch.New(t.Context(), newCrashing(box, joinAndMark, false, func(events.Job) {}), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Next(t.Context(), 0); !errors.Is(err, errCrashed) {
		t.Fatal(err)
	}
	if j := joinOf(t, box, "monday"); j.State != join.Dispatched || !j.Current().Unconfirmed || j.Current().Job == "" {
		t.Fatalf("the run is %s, %+v", j.State, j)
	}
}

func TestAJobThatWasNotEnqueuedIsEnqueuedByTheNextDispatcher(t *testing.T) {
	t.Parallel()
	for name, comes := range map[string]func(*testing.T, events.Letterbox, *dispatch.Dispatcher){
		"the event again": func(t *testing.T, box events.Letterbox, d *dispatch.Dispatcher) {
			for r := range box.Read(t.Context(), events.Query{Run: "monday", Kinds: []events.Kind{events.KindTransformReady}}) {
				if err := d.Handle(t.Context(), r); err != nil {
					t.Error(err)
				}
			}
		},
		"a sweep": func(t *testing.T, _ events.Letterbox, d *dispatch.Dispatcher) {
			time.Sleep(2 * d.SweepEvery)
			sweep(t, d)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				box, d := setup(t, alone)
				publish(t, box, "monday", "t", transform())
				diesUnconfirmed(t, box)
				comes(t, box, d)
				wantJobs(t, box, "behind the dead", "monday")
			})
		})
	}
}

// A run may be ended at the moment when a dispatcher is about to mark it: it has no job then.
func TestARunThatIsEndedBeforeItIsMarkedHasNoJob(t *testing.T) {
	t.Parallel()
	box, _ := setup(t, alone)
	publish(t, box, "monday", "t", transform())
	var once sync.Once
	racing := &interrupted{Memory: box, before: func() {
		if joinOf(t, box, "monday").State != join.Complete {
			return
		}
		once.Do(func() {
			if _, err := dispatch.Cancel(t.Context(), box, "penguin", "monday"); err != nil {
				t.Error(err)
			}
		})
	}}
	d, err := dispatch.New(t.Context(), racing, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Next(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if published := called(t, box, "monday"); published != "cancelled: cancelled" {
		t.Errorf("failed with %q", published)
	}
	if left := jobs(t, box); len(left) != 0 {
		t.Errorf("%d jobs of a run that was cancelled before it had one", len(left))
	}
}

// A dispatcher that lost the race for a join may read an old copy for a while: it must not decide
// by that.
func TestADispatcherThatLostAWriteReadsUntilItSeesWhatWon(t *testing.T) {
	t.Parallel()
	box, _ := setup(t, alone)
	publish(t, box, "monday", "t", transform())
	var once sync.Once
	racing := &interrupted{Memory: box, old: 3, before: func() {
		once.Do(func() {
			if _, err := dispatch.Cancel(t.Context(), box, "penguin", "monday"); err != nil {
				t.Error(err)
			}
		})
	}}
	d, err := dispatch.New(t.Context(), racing, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Next(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if racing.old != 0 {
		t.Errorf("%d of 3 old reads are left: the test shows nothing", racing.old)
	}
	if j := joinOf(t, box, "monday"); j.State != join.Ended {
		t.Errorf("the cancelled run is %s", j.State)
	}
	if left := jobs(t, box); len(left) != 0 {
		t.Errorf("%d jobs of a run that was cancelled before it had one", len(left))
	}
}

// A run may get its job at the moment when it is ended. Then the job is cancelled instead, and only
// the worker announces the end.
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
	if err != nil || got.Job != joinOf(t, box, "monday").Current().Job || got.Job == "" {
		t.Errorf("%+v, %v", got, err)
	}
	if published := called(t, box, "monday"); published != "" {
		t.Errorf("failed with %q", published)
	}
}

// interrupted is a letterbox through which something happens right before the first write to a join
// that exists. Where that write is refused, so many reads return what the join was before.
type interrupted struct {
	*eventstest.Memory
	before func()
	old    int

	known   events.Entry // what was read or created last
	refused bool
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

func (r interruptedRegister) Get(ctx context.Context, key string) (events.Entry, error) {
	if r.box.refused && r.box.old > 0 {
		r.box.old--
		return r.box.known, nil
	}
	entry, err := r.Register.Get(ctx, key)
	r.box.known = entry
	return entry, err
}

func (r interruptedRegister) Create(ctx context.Context, key string, value []byte) (uint64, error) {
	revision, err := r.Register.Create(ctx, key, value)
	r.box.known = events.Entry{Key: key, Value: value, Revision: revision}
	return revision, err
}

func (r interruptedRegister) Update(ctx context.Context, key string, value []byte, at uint64) (uint64, error) {
	if before := r.box.before; before != nil {
		r.box.before = nil
		before()
	}
	revision, err := r.Register.Update(ctx, key, value, at)
	r.box.refused = r.box.refused || errors.Is(err, events.ErrConflict)
	return revision, err
}
