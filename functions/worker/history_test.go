package worker_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/eventstest"
	"github.com/stoker-ml/stoker/functions/worker"
)

// mortalBus is the bus of a worker that dies when die returns true before an effect of that name:
// nothing of it reaches the bus then.
type mortalBus struct {
	events.Letterbox
	die  func(effect string) bool
	dead bool
}

var errDead = errors.New("the worker is dead")

func (b *mortalBus) lives(effect string) error {
	b.dead = b.dead || b.die(effect)
	if b.dead {
		return errDead
	}
	return nil
}

func (b *mortalBus) Publish(ctx context.Context, f events.Fact) (events.Receipt, error) {
	if err := b.lives("event"); err != nil {
		return events.Receipt{}, err
	}
	return b.Letterbox.Publish(ctx, f)
}

func (b *mortalBus) Bury(ctx context.Context, letter events.DeadLetter) error {
	if err := b.lives("dead letter"); err != nil {
		return err
	}
	return b.Letterbox.Bury(ctx, letter)
}

func (b *mortalBus) Register(ctx context.Context, name string) (events.Register, error) {
	if err := b.lives("report"); err != nil {
		return nil, err
	}
	return b.Letterbox.Register(ctx, name)
}

func (b *mortalBus) Take(ctx context.Context, f events.Function, classes []string, wait time.Duration) (events.Claim, error) {
	if err := b.lives("claim"); err != nil {
		return nil, err
	}
	claim, err := b.Letterbox.Take(ctx, f, classes, wait)
	if err != nil {
		return nil, err
	}
	return mortalClaim{claim, b}, nil
}

type mortalClaim struct {
	events.Claim
	box *mortalBus
}

func (c mortalClaim) Done(ctx context.Context) error {
	if err := c.box.lives("ack"); err != nil {
		return err
	}
	return c.Claim.Done(ctx)
}

func (c mortalClaim) Later(ctx context.Context, delay time.Duration, cause events.FailureKind, why string) error {
	if err := c.box.lives("nak"); err != nil {
		return err
	}
	return c.Claim.Later(ctx, delay, cause, why)
}

// dieBefore has one worker work until it dies before an effect. Its lease has expired then.
func dieBefore(t *testing.T, box events.Letterbox, effect string, f *function) {
	t.Helper()
	bus := &mortalBus{Letterbox: box, die: func(at string) bool { return at == effect }}
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
	defer stop()
	if err := worker.New(bus, worker.Options{Functions: []worker.Function{f}}).Run(ctx); err != nil {
		t.Fatal(err)
	}
	if !bus.dead {
		t.Fatalf("the worker did not reach its %s", effect)
	}
}

// trainsAs makes the model of the execution that a module's digest determines.
func trainsAs(digit string) func(context.Context, worker.Task) ([]events.Fact, error) {
	return func(_ context.Context, task worker.Task) ([]events.Fact, error) {
		return []events.Fact{modelOf(task.Job, digit)}, nil
	}
}

func modelOf(job events.Job, digit string) events.Fact {
	digest := fmt.Sprintf("sha256:%064s", digit)
	return events.NewModelTrained(job, &events.ModelTrained{
		Model:     events.Model{URI: "s3://bkt/model/" + digit, Digest: digest, Formats: []string{"Format-Serving"}},
		Execution: digest, Generation: job.Generation, Inputs: []events.Artifact{}, Module: digest,
	})
}

func TestAJobThatWasAnnouncedIsNotDoneAgainAsAnotherExecution(t *testing.T) {
	t.Parallel()
	for effect, models := range map[string]string{"event": "s3://bkt/model/2", "ack": "s3://bkt/model/1"} {
		synctest.Test(t, func(t *testing.T) {
			box, later := offered(t), &function{handle: trainsAs("2")}
			dieBefore(t, box, effect, &function{handle: trainsAs("1")})
			work(t, box, later, 5*time.Minute)
			published := facts(t, box, events.KindModelTrained)
			if len(published) != 1 || published[0].Data.(*events.ModelTrained).Model.URI != models || left(t, box) {
				t.Errorf("died before its %s: events %+v, want one of %s", effect, published, models)
			}
			if effect == "ack" && later.calls.Load() != 0 {
				t.Error("an announced job was worked on")
			}
		})
	}
}

// The message of a job that is done may come again as the first attempt at it: a dispatcher that
// has lost its join enqueues it again.
func TestTheFirstAttemptAtAnAnnouncedJobDoesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		box, f := offered(t), &function{handle: trainsAs("2")}
		publish(t, box, modelOf(queued(t, box), "1"))
		work(t, box, f, time.Minute)
		if published := facts(t, box, events.KindModelTrained); len(published) != 1 || f.calls.Load() != 0 || left(t, box) {
			t.Errorf("%d events, worked on %d times", len(published), f.calls.Load())
		}
	})
}

func TestOnlyTheOutcomeOfThisVeryJobCounts(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*events.Job){
		"a retried dead letter": func(j *events.Job) { j.Request = "dead-1" },
		"a replay":              func(j *events.Job) { j.ID, j.Generation = "j2", 1 },
		"another run":           func(j *events.Job) { j.Run = "tuesday" },
	} {
		synctest.Test(t, func(t *testing.T) {
			box, f := eventstest.NewMemory(0), &function{handle: trainsAs("1")}
			job := queued(t, offered(t))
			publish(t, box, modelOf(job, "0"))
			publish(t, box, events.NewJobFailed(job, events.Attempt{Number: 1}, &events.Failure{Kind: events.FailureModule, Err: errors.New("x")}))
			change(&job)
			if err := box.Offer(t.Context(), job); err != nil {
				t.Fatal(err)
			}
			work(t, box, f, time.Minute)
			if published := facts(t, box, events.KindModelTrained); len(published) != 2 || f.calls.Load() != 1 || left(t, box) {
				t.Errorf("%s: %d events, worked on %d times", name, len(published), f.calls.Load())
			}
		})
	}
}

func TestAJobOfAnEndedRunIsNotWorkedOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		box, f := offered(t), &function{handle: trainsAs("1")}
		publish(t, box, ended(events.FailureCancelled))
		work(t, box, f, time.Minute)
		wantEndedOnly(t, box)
		if f.calls.Load() != 0 {
			t.Errorf("worked on %d times", f.calls.Load())
		}
	})
}

// The run ends while its job is worked on, whatever the result of that is.
func TestNothingIsPublishedForAJobWhoseRunEndsMeanwhile(t *testing.T) {
	t.Parallel()
	for name, then := range map[string]func(context.Context, worker.Task) ([]events.Fact, error){
		"a model": trainsAs("1"), "a failure": fails(events.FailureModule), "a cancellation": fails(events.FailureCancelled),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				box := offered(t)
				f := &function{handle: func(ctx context.Context, task worker.Task) ([]events.Fact, error) {
					publish(t, box, ended(events.FailureIncomplete))
					return then(ctx, task)
				}}
				work(t, box, f, time.Hour)
				wantEndedOnly(t, box)
			})
		})
	}
}

// The function of a cancelled job ends what its attempts have begun, though the run's end is in the
// log already.
func TestTheFunctionEndsACancelledJobOfAnEndedRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		box, f := offered(t), &function{handle: fails(events.FailureCancelled)}
		if err := box.Cancel(t.Context(), "j1"); err != nil {
			t.Fatal(err)
		}
		publish(t, box, ended(events.FailureCancelled))
		work(t, box, f, time.Minute)
		wantEndedOnly(t, box)
		if f.calls.Load() != 1 {
			t.Errorf("worked on %d times", f.calls.Load())
		}
	})
}

// wantEndedOnly checks that the job is off its queue with no event but the run's end, and no dead
// letter.
func wantEndedOnly(t *testing.T, box *eventstest.Memory) {
	t.Helper()
	models, failures := facts(t, box, events.KindModelTrained), facts(t, box, events.KindTrainingFailed)
	if len(models) != 0 || len(failures) != 1 || len(dead(t, box)) != 0 || left(t, box) {
		t.Errorf("models %+v, failures %+v, %d dead letters", models, failures, len(dead(t, box)))
	}
}

func ended(kind events.FailureKind) events.Fact {
	return events.NewRunEnded(events.RunEnded{
		Pipeline: "penguin", Run: "monday", At: time.Unix(1, 0), Failure: &events.Failure{Kind: kind, Err: errors.New("it is over")},
	})
}

func publish(t *testing.T, box events.Letterbox, fact events.Fact) {
	t.Helper()
	if _, err := box.Publish(t.Context(), fact); err != nil {
		t.Error(err)
	}
}

// queued returns the job on the queue.
func queued(t *testing.T, box events.Letterbox) events.Job {
	t.Helper()
	message, err := box.Queued(t.Context(), "j1")
	if err != nil {
		t.Fatal(err)
	}
	job, err := events.DecodeJob(message.Body)
	if err != nil {
		t.Fatal(err)
	}
	return job
}
