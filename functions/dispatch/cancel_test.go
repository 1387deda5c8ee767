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
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

// called returns the log's failure of a cancelled run: "" if it has none.
func called(t *testing.T, bus events.Bus, run string) string {
	t.Helper()
	var all []string
	for _, event := range failures(t, bus, run) {
		data := event.Data.(*events.TrainingFailed)
		all = append(all, string(data.Reason)+": "+data.Message)
	}
	return strings.Join(all, ", ")
}

func TestCancelEndsARunThatWaitsForEvents(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, joined)
	arrive(t, bus, d, "monday")
	got, err := dispatch.Cancel(t.Context(), bus, "penguin", "monday")
	if err != nil || got.Job != "" || called(t, bus, "monday") != "cancelled: cancelled" {
		t.Errorf("%+v, %v, failed with %q", got, err, called(t, bus, "monday"))
	}
	publish(t, bus, "monday", "h", hparams("s3://bkt/hp"))
	drain(t, d)
	wantJobs(t, bus, "afterwards")
	if _, err := dispatch.Cancel(t.Context(), bus, "penguin", "monday"); !errors.Is(err, dispatch.ErrTooLate) {
		t.Errorf("cancelled twice: %v", err)
	}
}

// Dispatchers do not handle events in the order of the log; even so, the run's end names the events
// in the log.
func TestACancelledRunHasTheEventsOfTheLog(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, joined)
	publish(t, bus, "monday", "t", transform())
	publish(t, bus, "monday", "h", hparams("s3://bkt/hp"))
	for recorded, err := range bus.Read(t.Context(), events.Query{Kinds: []events.Kind{events.KindHParamsReady}}) {
		if err == nil {
			err = d.Handle(t.Context(), recorded)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := dispatch.Cancel(t.Context(), bus, "penguin", "monday"); err != nil {
		t.Fatal(err)
	}
	ended := joinOf(t, bus, "monday")
	if len(ended.Events) != 2 || ended.Ending == nil || ended.Ending.Through != 2 {
		t.Errorf("the run has ended with %+v", ended)
	}
	drain(t, d)
	wantJobs(t, bus, "afterwards")
}

func TestCancelEndsARunThatWaitsForAdmission(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, fmt.Sprintf(limited, "1"))
	arrive(t, bus, d, "a", "b", "c")
	got, err := dispatch.Cancel(t.Context(), bus, "penguin", "b")
	if err != nil || got.Job != "" || called(t, bus, "b") != "cancelled: cancelled" {
		t.Errorf("%+v, %v, failed with %q", got, err, called(t, bus, "b"))
	}
	first := wantJobs(t, bus, "at first", "a")
	finish(t, bus, d, first[0])
	wantJobs(t, bus, "a is done", "c")
}

func TestCancelStopsTheWorkerThatHasTheJob(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, alone)
	arrive(t, bus, d, "monday")
	claim, err := bus.Claim(t.Context(), events.FunctionTrain, []string{"cpu"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	err = claim.KeepAlive(t.Context(), func(ctx context.Context) error {
		for range 2 { // cancelling again is no error
			if got, err := dispatch.Cancel(t.Context(), bus, "penguin", "monday"); err != nil || got.Job != joinOf(t, bus, "monday").Current().Job {
				t.Errorf("%+v, %v", got, err)
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(8 * time.Minute):
			return errors.New("not cancelled")
		}
	})
	if !errors.Is(err, events.ErrCancelled) {
		t.Errorf("the worker's context ended with %v", err)
	}
	if published := called(t, bus, "monday"); published != "" {
		t.Errorf("the dispatcher published %q, which is the worker's to publish", published)
	}
}

func TestARunWithAnOutcomeCanNotBeCancelled(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, alone)
	arrive(t, bus, d, "monday")
	finish(t, bus, d, wantJobs(t, bus, "at first", "monday")[0])
	if _, err := dispatch.Cancel(t.Context(), bus, "penguin", "monday"); !errors.Is(err, dispatch.ErrTooLate) {
		t.Errorf("cancelled: %v", err)
	}
	job, err := d.Retry(t.Context(), "penguin", "monday", events.FunctionTrain, join.Retry{Generation: 1})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := dispatch.Cancel(t.Context(), bus, "penguin", "monday"); err != nil || got.Job != job.ID {
		t.Errorf("the job that was made again: %+v, %v; want %s", got, err, job.ID)
	}
}

func TestCancelOfAnUnknownRun(t *testing.T) {
	t.Parallel()
	bus, _ := setup(t, alone)
	for _, name := range []string{"penguin", "pinguin"} {
		if _, err := dispatch.Cancel(t.Context(), bus, name, "monday"); !errors.Is(err, events.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A dispatcher that died after it marked the run and before it enqueued the job leaves a run whose
// job is not on the queue: cancelling enqueues it, so that a worker announces the end.
func TestCancelReachesAJobThatWasNotEnqueued(t *testing.T) {
	t.Parallel()
	bus, _ := setup(t, alone)
	publish(t, bus, "monday", "t", transform())
	diesUnconfirmed(t, bus)
	got, err := dispatch.Cancel(t.Context(), bus, "penguin", "monday")
	if err != nil || got.Job == "" {
		t.Fatalf("%+v, %v", got, err)
	}
	claim, err := bus.Claim(t.Context(), events.FunctionTrain, []string{"cpu"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if job := events.JobID(claim.Message().Subject); !claim.Attempt().Cancelled || job != got.Job {
		t.Errorf("job %s, %+v; cancelled was %s", job, claim.Attempt(), got.Job)
	}
}

// diesUnconfirmed makes a dispatcher handle the next event, mark its run, and die before it
// enqueues the job.
func diesUnconfirmed(t *testing.T, bus events.Bus) {
	t.Helper()
	const joinAndMark = 3 // the effects after these do not happen
	d, err := dispatch.New(t.Context(), newCrashing(bus, joinAndMark, false, func(events.Job) {}), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Next(t.Context(), 0); !errors.Is(err, errCrashed) {
		t.Fatal(err)
	}
	if j := joinOf(t, bus, "monday"); j.State != join.Dispatched || !j.Current().Unconfirmed || j.Current().Job == "" {
		t.Fatalf("the run is %s, %+v", j.State, j)
	}
}

func TestAJobThatWasNotEnqueuedIsEnqueuedByTheNextDispatcher(t *testing.T) {
	t.Parallel()
	for name, comes := range map[string]func(*testing.T, events.Bus, *dispatch.Dispatcher){
		"the event again": func(t *testing.T, bus events.Bus, d *dispatch.Dispatcher) {
			for r := range bus.Read(t.Context(), events.Query{Run: "monday", Kinds: []events.Kind{events.KindTransformReady}}) {
				if err := d.Handle(t.Context(), r); err != nil {
					t.Error(err)
				}
			}
		},
		"a sweep": func(t *testing.T, _ events.Bus, d *dispatch.Dispatcher) {
			time.Sleep(2 * d.SweepEvery)
			sweep(t, d)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				bus, d := setup(t, alone)
				publish(t, bus, "monday", "t", transform())
				diesUnconfirmed(t, bus)
				comes(t, bus, d)
				wantJobs(t, bus, "behind the dead", "monday")
			})
		})
	}
}

// If a run is ended right before a dispatcher marks it, it gets no job.
func TestARunThatIsEndedBeforeItIsMarkedHasNoJob(t *testing.T) {
	t.Parallel()
	bus, _ := setup(t, alone)
	publish(t, bus, "monday", "t", transform())
	var once sync.Once
	racing := &interrupted{Memory: bus, before: func() {
		if joinOf(t, bus, "monday").State != join.Complete {
			return
		}
		once.Do(func() {
			if _, err := dispatch.Cancel(t.Context(), bus, "penguin", "monday"); err != nil {
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
	if published := called(t, bus, "monday"); published != "cancelled: cancelled" {
		t.Errorf("failed with %q", published)
	}
	if left := jobs(t, bus); len(left) != 0 {
		t.Errorf("%d jobs of a run that was cancelled before it had one", len(left))
	}
}

// A dispatcher that lost the race for a join may read an old copy for a while: it must not decide
// by that copy.
func TestADispatcherThatLostAWriteReadsUntilItSeesWhatWon(t *testing.T) {
	t.Parallel()
	bus, _ := setup(t, alone)
	publish(t, bus, "monday", "t", transform())
	var once sync.Once
	racing := &interrupted{Memory: bus, old: 3, before: func() {
		once.Do(func() {
			if _, err := dispatch.Cancel(t.Context(), bus, "penguin", "monday"); err != nil {
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
	if j := joinOf(t, bus, "monday"); j.State != join.Ended {
		t.Errorf("the cancelled run is %s", j.State)
	}
	if left := jobs(t, bus); len(left) != 0 {
		t.Errorf("%d jobs of a run that was cancelled before it had one", len(left))
	}
}

// If a run gets its job right before it is ended, the job is cancelled instead, and only the worker
// announces the end.
func TestARunThatGetsItsJobWhileItIsEndedIsNotEnded(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, alone)
	if err := dispatch.Pause(t.Context(), bus, "penguin"); err != nil {
		t.Fatal(err)
	}
	arrive(t, bus, d, "monday")
	racing := &interrupted{Memory: bus, before: func() {
		if err := dispatch.Resume(t.Context(), bus, "penguin"); err != nil {
			t.Error(err)
		}
	}}
	got, err := dispatch.Cancel(t.Context(), racing, "penguin", "monday")
	if err != nil || got.Job != joinOf(t, bus, "monday").Current().Job || got.Job == "" {
		t.Errorf("%+v, %v", got, err)
	}
	if published := called(t, bus, "monday"); published != "" {
		t.Errorf("failed with %q", published)
	}
}

// interrupted is a bus that calls a function right before the first write to a join that exists. If
// that write is refused, the given number of reads return the join as it was before.
type interrupted struct {
	*bustest.Memory
	before func()
	old    int

	known   events.Entry // the entry that was read or created last
	refused bool
}

func (b *interrupted) KV(ctx context.Context, name string) (events.KV, error) {
	kv, err := b.Memory.KV(ctx, name)
	if name != events.KVJoins {
		return kv, err
	}
	return interruptedKV{kv, b}, err
}

type interruptedKV struct {
	events.KV
	bus *interrupted
}

func (r interruptedKV) Get(ctx context.Context, key string) (events.Entry, error) {
	if r.bus.refused && r.bus.old > 0 {
		r.bus.old--
		return r.bus.known, nil
	}
	entry, err := r.KV.Get(ctx, key)
	r.bus.known = entry
	return entry, err
}

func (r interruptedKV) Create(ctx context.Context, key string, value []byte) (uint64, error) {
	revision, err := r.KV.Create(ctx, key, value)
	r.bus.known = events.Entry{Key: key, Value: value, Revision: revision}
	return revision, err
}

func (r interruptedKV) Update(ctx context.Context, key string, value []byte, at uint64) (uint64, error) {
	if before := r.bus.before; before != nil {
		r.bus.before = nil
		before()
	}
	revision, err := r.KV.Update(ctx, key, value, at)
	r.bus.refused = r.bus.refused || errors.Is(err, events.ErrConflict)
	return revision, err
}
