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
	"github.com/stoker-ml/stoker/events/eventstest"
	"github.com/stoker-ml/stoker/functions/worker"
)

// function is a worker.Function that does what handle says.
type function struct {
	calls  atomic.Int32
	handle func(ctx context.Context, task worker.Task) ([]events.Fact, error)
	limits worker.Limits
}

func (f *function) Name() events.Function { return events.FunctionTrain }

func (f *function) Handle(ctx context.Context, task worker.Task) ([]events.Fact, error) {
	f.calls.Add(1)
	return f.handle(ctx, task)
}

func (f *function) Limits(events.Job) worker.Limits { return f.limits }

func (f *function) Failed(task worker.Task, failure *events.Failure) events.Fact {
	return events.NewJobFailed(task.Job, task.Attempt, failure)
}

func fails(kind events.FailureKind) func(context.Context, worker.Task) ([]events.Fact, error) {
	return func(context.Context, worker.Task) ([]events.Fact, error) {
		return nil, events.Fail(kind, errors.New("it went wrong"))
	}
}

func tells(_ context.Context, task worker.Task) ([]events.Fact, error) {
	return []events.Fact{{ID: "done-" + task.Job.ID, Source: "/test", Pipeline: task.Job.Pipeline, Run: task.Job.Run,
		Data: &events.HParamsReady{Hyperparameters: "s3://bkt/hp"}}}, nil
}

// run works for a virtual while on one job that a fact led to, and returns what is in the box then.
func run(t *testing.T, f *function, while time.Duration) *eventstest.Memory {
	t.Helper()
	box := offered(t)
	work(t, box, f, while)
	return box
}

func work(t *testing.T, box events.Letterbox, f *function, while time.Duration) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), while)
	defer stop()
	if err := worker.New(box, worker.Options{Functions: []worker.Function{f}}).Run(ctx); err != nil {
		t.Error(err)
	}
}

// offered is a box with one job on its queue, and the fact that led to it.
func offered(t *testing.T) *eventstest.Memory {
	t.Helper()
	box := eventstest.NewMemory(0)
	cause := events.Fact{ID: "cause", Source: "/test", Pipeline: "penguin", Run: "monday", Data: &events.TransformReady{TransformGraph: "s3://bkt/g"}}
	receipt, err := box.Publish(t.Context(), cause)
	if err != nil {
		t.Fatal(err)
	}
	job := events.Job{
		ID: "j1", Function: events.FunctionTrain, Class: "cpu", Pipeline: "penguin", Revision: 1, Run: "monday", Spec: []byte("{}"),
		Inputs: events.Inputs{TransformGraph: "s3://bkt/g"}, Causes: []events.Cause{{Kind: events.KindTransformReady, Source: "/test", ID: "cause", Sequence: receipt.Sequence}},
		Created: time.Now(),
	}
	if err := box.Offer(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	return box
}

func dead(t *testing.T, box events.Letterbox) []events.DeadLetter {
	t.Helper()
	var all []events.DeadLetter
	for letter, err := range box.Dead(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, letter)
	}
	return all
}

func facts(t *testing.T, box events.Letterbox, kind events.Kind) []events.Fact {
	t.Helper()
	var all []events.Fact
	for recorded, err := range box.Read(t.Context(), events.Query{Kinds: []events.Kind{kind}}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, recorded.Fact)
	}
	return all
}

// left says whether the job is still on the queue, once every lease has run out.
func left(t *testing.T, box events.Letterbox) bool {
	t.Helper()
	_, err := box.Take(t.Context(), events.FunctionTrain, []string{"cpu"}, 5*time.Minute)
	return !errors.Is(err, events.ErrEmpty)
}

func TestAJobDoneIsToldAndGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &function{handle: tells}
		box := run(t, f, time.Minute)
		if told := facts(t, box, events.KindHParamsReady); len(told) != 1 || f.calls.Load() != 1 || left(t, box) {
			t.Errorf("told %d facts in %d calls", len(told), f.calls.Load())
		}
	})
}

func TestFates(t *testing.T) {
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
		"the world's fault is no limit":            {events.FailureUnavailable, worker.Limits{Attempts: 1, Crashes: 1}, 65, false}, // in an hour: after 1, 2, ... 32 s, then each minute
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := &function{handle: fails(tc.kind), limits: tc.limits}
				box := run(t, f, time.Hour)
				if f.calls.Load() != tc.calls {
					t.Errorf("%d tries, want %d", f.calls.Load(), tc.calls)
				}
				letters, told := dead(t, box), facts(t, box, events.KindTrainingFailed)
				if !tc.over {
					if len(letters)+len(told) > 0 || !left(t, box) {
						t.Error("it was given up")
					}
					return
				}
				wantLetters := 1
				if tc.kind == events.FailureCancelled {
					wantLetters = 0 // nobody needs to look after it
				}
				if len(letters) != wantLetters || len(told) != 1 || left(t, box) {
					t.Fatalf("%d dead letters, %d facts", len(letters), len(told))
				}
				if failed := told[0].Data.(*events.TrainingFailed); failed.Reason != tc.kind || failed.Message != "it went wrong" || failed.Attempt != int(tc.calls) {
					t.Errorf("told %+v", failed)
				}
				for _, letter := range letters {
					if len(letter.Causes) != 1 || letter.Causes[0].Sequence != 1 || letter.Reason.Kind != tc.kind {
						t.Errorf("dead letter %+v", letter)
					}
				}
			})
		})
	}
}

// An attempt that gives its job up may die with every step of that but the last one done.
func TestAJobWhoseEndWasToldIsNotWorkedOnAgain(t *testing.T) {
	t.Parallel()
	for _, kind := range []events.FailureKind{events.FailureModule, events.FailureInput, events.FailureCancelled} {
		synctest.Test(t, func(t *testing.T) {
			f := &function{handle: tells, limits: worker.Limits{Attempts: 3, Crashes: 3}}
			box := offered(t)
			claim, err := box.Take(t.Context(), events.FunctionTrain, []string{"cpu"}, 0)
			if err != nil {
				t.Fatal(err)
			}
			job, err := claim.Job()
			if err != nil {
				t.Fatal(err)
			}
			failure := &events.Failure{Kind: kind, Err: errors.New("it went wrong")}
			if _, err := box.Publish(t.Context(), events.NewJobFailed(job, claim.Attempt(), failure)); err != nil {
				t.Fatal(err)
			}
			work(t, box, f, time.Hour)
			if told := facts(t, box, events.KindTrainingFailed); f.calls.Load() != 0 || len(told) != 1 || left(t, box) {
				t.Errorf("%s: worked on it %d times, told %d facts", kind, f.calls.Load(), len(told))
			}
			if letters := len(dead(t, box)); letters != 0 { // it was kept before the event was published
				t.Errorf("%s: %d dead letters", kind, letters)
			}
		})
	}
}

func TestAPanicInAFunctionIsACrashOfItsJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &function{handle: func(context.Context, worker.Task) ([]events.Fact, error) { panic("oh") }, limits: worker.Limits{Attempts: 1, Crashes: 2}}
		box := run(t, f, time.Hour)
		if told := facts(t, box, events.KindTrainingFailed); len(told) != 1 || f.calls.Load() != 2 {
			t.Errorf("%d facts after %d tries", len(told), f.calls.Load())
		}
	})
}

func TestAStoppingWorkerHandsItsJobBackSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &function{handle: func(ctx context.Context, _ worker.Task) ([]events.Fact, error) {
			<-ctx.Done()
			return nil, events.Fail(events.FailureModule, context.Cause(ctx))
		}}
		box := run(t, f, time.Minute)
		if _, err := box.Take(t.Context(), events.FunctionTrain, []string{"cpu"}, 0); !errors.Is(err, events.ErrEmpty) {
			t.Error("another slot of the same worker could take it")
		}
		claim, err := box.Take(t.Context(), events.FunctionTrain, []string{"cpu"}, 2*time.Second)
		if err != nil {
			t.Fatal("the job is not free: ", err)
		}
		if attempt := claim.Attempt(); attempt.Number != 2 || attempt.Failures[events.FailureUnavailable] != 1 {
			t.Errorf("second attempt %+v", attempt)
		}
	})
}

func TestAMessageThatIsNoJobIsBuried(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &function{handle: tells}
		box := eventstest.NewMemory(0)
		if err := box.Inject(t.Context(), "jobs.train.cpu.j1", nil, []byte(`{"id": 5}`)); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if err := worker.New(box, worker.Options{Functions: []worker.Function{f}}).Run(ctx); err != nil {
			t.Error(err)
		}
		letters := dead(t, box)
		if len(letters) != 1 || letters[0].Reason.Field != "id" || string(letters[0].Message.Body) != `{"id": 5}` || f.calls.Load() != 0 {
			t.Errorf("dead letters %+v", letters)
		}
	})
}

func TestOnceWorksOnOneJobAtMost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		box, f := eventstest.NewMemory(0), &function{handle: tells}
		w := worker.New(box, worker.Options{Functions: []worker.Function{f}})
		if worked, err := w.Once(t.Context(), time.Second); worked || err != nil {
			t.Errorf("on an empty queue: %v, %v", worked, err)
		}
		for _, id := range []string{"j1", "j2"} {
			offer(t, box, id)
		}
		if worked, err := w.Once(t.Context(), time.Second); !worked || err != nil || f.calls.Load() != 1 || !left(t, box) {
			t.Errorf("with two jobs: %v, %v after %d calls", worked, err, f.calls.Load())
		}
	})
}

func TestAFactThatTheBusWillNeverTakeIsTheJobsOwnFault(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]*events.HParamsReady{
		"not valid": {Hyperparameters: "nowhere"},
		"too large": {Hyperparameters: "s3://bkt/hp", Values: map[string]any{"x": strings.Repeat("x", 2<<20)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := &function{limits: worker.Limits{Attempts: 2, Crashes: 9}, handle: func(context.Context, worker.Task) ([]events.Fact, error) {
					return []events.Fact{{ID: "x", Source: "/test", Pipeline: "penguin", Run: "monday", Data: data}}, nil
				}}
				box := run(t, f, time.Hour)
				if told := facts(t, box, events.KindTrainingFailed); len(told) != 1 || f.calls.Load() != 2 || len(dead(t, box)) != 1 {
					t.Errorf("%d facts after %d tries", len(told), f.calls.Load())
				}
			})
		})
	}
}

func TestAWorkerLeavesALetterboxThatIsClosed(t *testing.T) {
	t.Parallel()
	err := worker.New(closed{eventstest.NewMemory(0)}, worker.Options{Functions: []worker.Function{&function{handle: tells}}}).Run(t.Context())
	if !errors.Is(err, events.ErrClosed) {
		t.Errorf("left with %v", err)
	}
}

// closed is a letterbox that was closed under its worker.
type closed struct{ events.Letterbox }

func (closed) Take(context.Context, events.Function, []string, time.Duration) (events.Claim, error) {
	return nil, events.ErrClosed
}

func offer(t *testing.T, box events.Letterbox, id string) {
	t.Helper()
	err := box.Offer(t.Context(), events.Job{
		ID: id, Function: events.FunctionTrain, Class: "cpu", Pipeline: "penguin", Run: "monday", Spec: []byte("{}"), Created: time.Now(),
		Causes: []events.Cause{{Kind: events.KindTransformReady, Source: "/x", ID: "c", Sequence: 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestProgressSaysWhoseItIs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		seen := make(chan events.Progress, 1)
		var box *eventstest.Memory
		f := &function{handle: func(ctx context.Context, task worker.Task) ([]events.Fact, error) {
			task.Report(events.Progress{Phase: "training", Step: 3})
			return tells(ctx, task)
		}}
		box = eventstest.NewMemory(0)
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		watched := box.Watch(ctx, "penguin", "")
		go func() {
			for p := range watched {
				seen <- p
				return
			}
		}()
		synctest.Wait()
		offer(t, box, "j1")
		if _, err := worker.New(box, worker.Options{Functions: []worker.Function{f}}).Once(ctx, time.Second); err != nil {
			t.Fatal(err)
		}
		if p := <-seen; p.Job != "j1" || p.Pipeline != "penguin" || p.Run != "monday" || p.Attempt == "" || p.Step != 3 || p.Time.IsZero() {
			t.Errorf("progress %+v", p)
		}
	})
}

// The store was wiped, and nobody knows that earlier jobs of the run had made this model.
func TestAModelUnderTheNameOfALostOneIsTheNextGeneration(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		trained := func(job events.Job, attempt string) events.Fact {
			digest := "sha256:" + strings.Repeat("0", 64)
			return events.NewModelTrained(job, &events.ModelTrained{
				Model:     events.Model{URI: "s3://bkt/model/" + attempt, Digest: digest, Formats: []string{"Format-Serving"}},
				Execution: digest, Generation: job.Generation, Inputs: []events.Artifact{}, Module: "m",
			})
		}
		f := &function{handle: func(_ context.Context, task worker.Task) ([]events.Fact, error) {
			return []events.Fact{trained(task.Job, "second")}, nil
		}}
		box := offered(t)
		claim, err := box.Take(t.Context(), events.FunctionTrain, []string{"cpu"}, 0)
		if err != nil {
			t.Fatal(err)
		}
		job, err := claim.Job()
		if err != nil {
			t.Fatal(err)
		}
		for _, generation := range []int{0, 1} { // lost twice
			job.ID, job.Generation = fmt.Sprint("earlier", generation), generation
			if _, err := box.Publish(t.Context(), trained(job, "first")); err != nil {
				t.Fatal(err)
			}
		}
		work(t, box, f, time.Hour)
		told := facts(t, box, events.KindModelTrained)
		last, _ := told[len(told)-1].Data.(*events.ModelTrained)
		if len(told) != 3 || last.Generation != 2 || last.Model.URI != "s3://bkt/model/second" || left(t, box) {
			t.Errorf("told %d facts, the last of %+v", len(told), last)
		}
	})
}

// A function that does not count the model anew would be asked for it without end.
func TestAGenerationThatIsNotMadeIsAskedForOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		digest := "sha256:" + strings.Repeat("0", 64)
		trained := func(job events.Job, uri string) events.Fact {
			return events.NewModelTrained(job, &events.ModelTrained{
				Model: events.Model{URI: uri, Digest: digest, Formats: []string{"Format-Serving"}}, Execution: digest, Inputs: []events.Artifact{}, Module: "m",
			})
		}
		f := &function{limits: worker.Limits{Attempts: 1, Crashes: 1}, handle: func(_ context.Context, task worker.Task) ([]events.Fact, error) {
			return []events.Fact{trained(task.Job, "s3://bkt/model/second")}, nil
		}}
		box := offered(t)
		if _, err := box.Publish(t.Context(), trained(events.Job{Function: events.FunctionTrain, Pipeline: "penguin", Run: "monday"}, "s3://bkt/model/first")); err != nil {
			t.Fatal(err)
		}
		work(t, box, f, time.Hour)
		if told := facts(t, box, events.KindTrainingFailed); len(told) != 1 || f.calls.Load() != 2 {
			t.Errorf("asked %d times, told %d failures", f.calls.Load(), len(told))
		}
	})
}
