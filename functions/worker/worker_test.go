package worker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/worker"
)

// function is a worker.Function whose Handle is handle.
type function struct {
	calls  atomic.Int32
	handle func(ctx context.Context, task worker.Task) ([]events.Event, error)
	limits worker.Limits
}

func (f *function) Name() events.Function { return events.FunctionTrain }

func (f *function) Handle(ctx context.Context, task worker.Task) ([]events.Event, error) {
	f.calls.Add(1)
	return f.handle(ctx, task)
}

func (f *function) Limits(events.Job) worker.Limits { return f.limits }

func (f *function) Failed(task worker.Task, failure *events.Failure) events.Event {
	return events.NewJobFailed(task.Job, task.Attempt, failure)
}

func fails(kind events.FailureKind) func(context.Context, worker.Task) ([]events.Event, error) {
	return func(context.Context, worker.Task) ([]events.Event, error) {
		return nil, events.Fail(kind, errors.New("it went wrong"))
	}
}

func announce(_ context.Context, task worker.Task) ([]events.Event, error) {
	return []events.Event{{ID: "done-" + task.Job.ID, Source: "/test", Pipeline: task.Job.Pipeline, Run: task.Job.Run,
		Data: &events.HParamsReady{Hyperparameters: "s3://bkt/hp"}}}, nil
}

// run runs a worker for a virtual while on one job that an event led to, and returns the bus.
func run(t *testing.T, f *function, while time.Duration) *bustest.Memory {
	t.Helper()
	bus := offered(t)
	work(t, bus, f, while)
	return bus
}

func work(t *testing.T, bus events.Bus, f *function, while time.Duration) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), while)
	defer stop()
	if err := worker.New(bus, worker.Options{Functions: []worker.Function{f}}).Run(ctx); err != nil {
		t.Error(err)
	}
}

// offered returns a bus with one job on its queue, and the event that led to it.
func offered(t *testing.T) *bustest.Memory {
	t.Helper()
	bus := bustest.NewMemory(0)
	cause := events.Event{ID: "cause", Source: "/test", Pipeline: "penguin", Run: "monday", Data: &events.TransformReady{TransformGraph: "s3://bkt/g"}}
	receipt, err := bus.Publish(t.Context(), cause)
	if err != nil {
		t.Fatal(err)
	}
	job := events.Job{
		ID: "j1", Function: events.FunctionTrain, Class: "cpu", Pipeline: "penguin", Revision: 1, Run: "monday", Spec: []byte("{}"),
		Inputs: events.Inputs{TransformGraph: "s3://bkt/g"}, Causes: []events.Cause{{Kind: events.KindTransformReady, Source: "/test", ID: "cause", Sequence: receipt.Sequence}},
		Created: time.Now(),
	}
	if err := bus.Enqueue(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	return bus
}

func dead(t *testing.T, bus events.Bus) []events.DeadLetter {
	t.Helper()
	var all []events.DeadLetter
	for deadLetter, err := range bus.DeadLetters(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, deadLetter)
	}
	return all
}

func evs(t *testing.T, bus events.Bus, kind events.Kind) []events.Event {
	t.Helper()
	var all []events.Event
	for recorded, err := range bus.Read(t.Context(), events.Query{Kinds: []events.Kind{kind}}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, recorded.Event)
	}
	return all
}

// left reports whether the job is still on the queue, once every lease has expired.
func left(t *testing.T, bus events.Bus) bool {
	t.Helper()
	_, err := bus.Claim(t.Context(), events.FunctionTrain, []string{"cpu"}, 5*time.Minute)
	return !errors.Is(err, events.ErrEmpty)
}

func TestADoneJobIsAnnouncedAndAcknowledged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &function{handle: announce}
		bus := run(t, f, time.Minute)
		if published := evs(t, bus, events.KindHParamsReady); len(published) != 1 || f.calls.Load() != 1 || left(t, bus) {
			t.Errorf("published %d events in %d calls", len(published), f.calls.Load())
		}
	})
}

func TestDispositions(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		kind   events.FailureKind
		limits worker.Limits
		calls  int32
		over   bool
	}{
		"bad input is never tried again":           {events.FailureInput, worker.Limits{Attempts: 3, Crashes: 3}, 1, true},
		"a module that raises has its tries":       {events.FailureModule, worker.Limits{Attempts: 2, Crashes: 9}, 2, true},
		"a model that fails its check has as many": {events.FailureCheck, worker.Limits{Attempts: 2, Crashes: 9}, 2, true},
		"a crash has its own":                      {events.FailureCrash, worker.Limits{Attempts: 1, Crashes: 3}, 3, true},
		"too much memory counts as a crash":        {events.FailureResources, worker.Limits{Attempts: 1, Crashes: 3}, 3, true},
		"cancelled is over":                        {events.FailureCancelled, worker.Limits{Attempts: 3, Crashes: 3}, 1, true},
		// In an hour: after 1, 2, ... 32 s, then each minute.
		"an outage has no limit": {events.FailureUnavailable, worker.Limits{Attempts: 1, Crashes: 1}, 65, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := &function{handle: fails(tc.kind), limits: tc.limits}
				bus := run(t, f, time.Hour)
				if f.calls.Load() != tc.calls {
					t.Errorf("%d tries, want %d", f.calls.Load(), tc.calls)
				}
				deadLetters, published := dead(t, bus), evs(t, bus, events.KindTrainingFailed)
				if !tc.over {
					if len(deadLetters)+len(published) > 0 || !left(t, bus) {
						t.Error("it was given up")
					}
					return
				}
				wantLetters := 1
				if tc.kind == events.FailureCancelled {
					wantLetters = 0 // no operator needs to act
				}
				if len(deadLetters) != wantLetters || len(published) != 1 || left(t, bus) {
					t.Fatalf("%d dead letters, %d events", len(deadLetters), len(published))
				}
				if failed := published[0].Data.(*events.TrainingFailed); failed.Reason != tc.kind || failed.Message != "it went wrong" || failed.Attempt != int(tc.calls) {
					t.Errorf("published %+v", failed)
				}
				for _, deadLetter := range deadLetters {
					if len(deadLetter.Causes) != 1 || deadLetter.Causes[0].Sequence != 1 || deadLetter.Reason.Kind != tc.kind {
						t.Errorf("dead letter %+v", deadLetter)
					}
				}
			})
		})
	}
}

// An attempt that gives its job up may die after every step but the last one.
func TestAJobWhoseEndWasAnnouncedIsNotWorkedOnAgain(t *testing.T) {
	t.Parallel()
	for _, kind := range []events.FailureKind{events.FailureModule, events.FailureInput, events.FailureCancelled} {
		synctest.Test(t, func(t *testing.T) {
			f := &function{handle: announce, limits: worker.Limits{Attempts: 3, Crashes: 3}}
			bus := offered(t)
			claim, err := bus.Claim(t.Context(), events.FunctionTrain, []string{"cpu"}, 0)
			if err != nil {
				t.Fatal(err)
			}
			job, err := claim.Job()
			if err != nil {
				t.Fatal(err)
			}
			failure := &events.Failure{Kind: kind, Err: errors.New("it went wrong")}
			if _, err := bus.Publish(t.Context(), events.NewJobFailed(job, claim.Attempt(), failure)); err != nil {
				t.Fatal(err)
			}
			work(t, bus, f, time.Hour)
			if published := evs(t, bus, events.KindTrainingFailed); f.calls.Load() != 0 || len(published) != 1 || left(t, bus) {
				t.Errorf("%s: worked on it %d times, published %d events", kind, f.calls.Load(), len(published))
			}
			// It was stored before the event was published.
			if deadLetters := len(dead(t, bus)); deadLetters != 0 {
				t.Errorf("%s: %d dead letters", kind, deadLetters)
			}
		})
	}
}

func TestAPanicInAFunctionIsACrashOfItsJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &function{handle: func(context.Context, worker.Task) ([]events.Event, error) { panic("oh") }, limits: worker.Limits{Attempts: 1, Crashes: 2}}
		bus := run(t, f, time.Hour)
		if published := evs(t, bus, events.KindTrainingFailed); len(published) != 1 || f.calls.Load() != 2 {
			t.Errorf("%d events after %d tries", len(published), f.calls.Load())
		}
	})
}

func TestAStoppingWorkerHandsItsJobBackSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &function{handle: func(ctx context.Context, _ worker.Task) ([]events.Event, error) {
			<-ctx.Done()
			return nil, events.Fail(events.FailureModule, context.Cause(ctx))
		}}
		bus := run(t, f, time.Minute)
		if _, err := bus.Claim(t.Context(), events.FunctionTrain, []string{"cpu"}, 0); !errors.Is(err, events.ErrEmpty) {
			t.Error("another slot of the same worker could take it")
		}
		claim, err := bus.Claim(t.Context(), events.FunctionTrain, []string{"cpu"}, 2*time.Second)
		if err != nil {
			t.Fatal("the job is not free: ", err)
		}
		if attempt := claim.Attempt(); attempt.Number != 2 || attempt.Failures[events.FailureUnavailable] != 1 {
			t.Errorf("second attempt %+v", attempt)
		}
	})
}

func TestAMessageThatIsNoJobIsDeadLettered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &function{handle: announce}
		bus := bustest.NewMemory(0)
		if err := bus.Inject(t.Context(), "jobs.train.cpu.j1", nil, []byte(`{"id": 5}`)); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if err := worker.New(bus, worker.Options{Functions: []worker.Function{f}}).Run(ctx); err != nil {
			t.Error(err)
		}
		deadLetters := dead(t, bus)
		if len(deadLetters) != 1 || deadLetters[0].Reason.Field != "id" || string(deadLetters[0].Message.Body) != `{"id": 5}` || f.calls.Load() != 0 {
			t.Errorf("dead letters %+v", deadLetters)
		}
	})
}

func TestOnceWorksOnOneJobAtMost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bus, f := bustest.NewMemory(0), &function{handle: announce}
		w := worker.New(bus, worker.Options{Functions: []worker.Function{f}})
		if worked, err := w.Once(t.Context(), time.Second); worked || err != nil {
			t.Errorf("on an empty queue: %v, %v", worked, err)
		}
		for _, id := range []string{"j1", "j2"} {
			offer(t, bus, id)
		}
		if worked, err := w.Once(t.Context(), time.Second); !worked || err != nil || f.calls.Load() != 1 || !left(t, bus) {
			t.Errorf("with two jobs: %v, %v after %d calls", worked, err, f.calls.Load())
		}
	})
}

func TestAnEventThatTheBusRefusesIsTheJobsOwnFault(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]*events.HParamsReady{
		"not valid": {Hyperparameters: "nowhere"},
		"too large": {Hyperparameters: "s3://bkt/hp", Values: map[string]any{"x": strings.Repeat("x", 2<<20)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := &function{limits: worker.Limits{Attempts: 2, Crashes: 9}, handle: func(context.Context, worker.Task) ([]events.Event, error) {
					return []events.Event{{ID: "x", Source: "/test", Pipeline: "penguin", Run: "monday", Data: data}}, nil
				}}
				bus := run(t, f, time.Hour)
				if published := evs(t, bus, events.KindTrainingFailed); len(published) != 1 || f.calls.Load() != 2 || len(dead(t, bus)) != 1 {
					t.Errorf("%d events after %d tries", len(published), f.calls.Load())
				}
			})
		})
	}
}

func TestAWorkerStopsWhenItsBusIsClosed(t *testing.T) {
	t.Parallel()
	err := worker.New(closed{bustest.NewMemory(0)}, worker.Options{Functions: []worker.Function{&function{handle: announce}}}).Run(t.Context())
	if !errors.Is(err, events.ErrClosed) {
		t.Errorf("ended with %v", err)
	}
}

// closed is a bus that was closed while its worker ran.
type closed struct{ events.Bus }

func (closed) Claim(context.Context, events.Function, []string, time.Duration) (events.Claim, error) {
	return nil, events.ErrClosed
}

func offer(t *testing.T, bus events.Bus, id string) {
	t.Helper()
	err := bus.Enqueue(t.Context(), events.Job{
		ID: id, Function: events.FunctionTrain, Class: "cpu", Pipeline: "penguin", Run: "monday", Spec: []byte("{}"), Created: time.Now(),
		Causes: []events.Cause{{Kind: events.KindTransformReady, Source: "/x", ID: "c", Sequence: 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestProgressNamesItsJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		seen := make(chan events.Progress, 1)
		var bus *bustest.Memory
		f := &function{handle: func(ctx context.Context, task worker.Task) ([]events.Event, error) {
			task.Report(events.Progress{Phase: "training", Step: 3})
			return announce(ctx, task)
		}}
		bus = bustest.NewMemory(0)
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		watched := bus.Watch(ctx, "penguin", "")
		go func() {
			for p := range watched {
				seen <- p
				return
			}
		}()
		synctest.Wait()
		offer(t, bus, "j1")
		if _, err := worker.New(bus, worker.Options{Functions: []worker.Function{f}}).Once(ctx, time.Second); err != nil {
			t.Fatal(err)
		}
		if p := <-seen; p.Job != "j1" || p.Pipeline != "penguin" || p.Run != "monday" || p.Attempt == "" || p.Step != 3 || p.Time.IsZero() {
			t.Errorf("progress %+v", p)
		}
	})
}

// The store was wiped, and no record shows that earlier jobs of the run had made this model.
func TestAModelUnderTheNameOfALostOneIsTheNextGeneration(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		trained := func(job events.Job, attempt string) events.Event {
			digest := "sha256:" + strings.Repeat("0", 64)
			return events.NewModelTrained(job, &events.ModelTrained{
				Model:     events.Model{URI: "s3://bkt/model/" + attempt, Digest: digest, Formats: []string{"Format-Serving"}},
				Execution: digest, Generation: job.Generation, Inputs: []events.Artifact{}, Module: "m",
			})
		}
		f := &function{handle: func(_ context.Context, task worker.Task) ([]events.Event, error) {
			return []events.Event{trained(task.Job, "second")}, nil
		}}
		bus := offered(t)
		claim, err := bus.Claim(t.Context(), events.FunctionTrain, []string{"cpu"}, 0)
		if err != nil {
			t.Fatal(err)
		}
		job, err := claim.Job()
		if err != nil {
			t.Fatal(err)
		}
		for _, generation := range []int{0, 1} { // lost twice
			job.ID, job.Generation = fmt.Sprint("earlier", generation), generation
			if _, err := bus.Publish(t.Context(), trained(job, "first")); err != nil {
				t.Fatal(err)
			}
		}
		work(t, bus, f, time.Hour)
		published := evs(t, bus, events.KindModelTrained)
		last, _ := published[len(published)-1].Data.(*events.ModelTrained)
		if len(published) != 3 || last.Generation != 2 || last.Model.URI != "s3://bkt/model/second" || left(t, bus) {
			t.Errorf("published %d events, the last of %+v", len(published), last)
		}
	})
}

// Without the limit, a function that does not raise the generation would be called forever.
func TestAGenerationThatIsNotMadeIsAskedForOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		digest := "sha256:" + strings.Repeat("0", 64)
		trained := func(job events.Job, uri string) events.Event {
			return events.NewModelTrained(job, &events.ModelTrained{
				Model: events.Model{URI: uri, Digest: digest, Formats: []string{"Format-Serving"}}, Execution: digest, Inputs: []events.Artifact{}, Module: "m",
			})
		}
		f := &function{limits: worker.Limits{Attempts: 1, Crashes: 1}, handle: func(_ context.Context, task worker.Task) ([]events.Event, error) {
			return []events.Event{trained(task.Job, "s3://bkt/model/second")}, nil
		}}
		bus := offered(t)
		if _, err := bus.Publish(t.Context(), trained(events.Job{Function: events.FunctionTrain, Pipeline: "penguin", Run: "monday"}, "s3://bkt/model/first")); err != nil {
			t.Fatal(err)
		}
		work(t, bus, f, time.Hour)
		if published := evs(t, bus, events.KindTrainingFailed); len(published) != 1 || f.calls.Load() != 2 {
			t.Errorf("called %d times, published %d failures", f.calls.Load(), len(published))
		}
	})
}
