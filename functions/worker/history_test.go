package worker_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/worker"
)

// mortalBus is the bus of a worker that dies if die returns true before an effect of that name: the
// effect doesn't reach the bus.
type mortalBus struct {
	events.Bus
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

func (b *mortalBus) Publish(ctx context.Context, f events.Event) (events.Receipt, error) {
	if err := b.lives("event"); err != nil {
		return events.Receipt{}, err
	}
	return b.Bus.Publish(ctx, f)
}

func (b *mortalBus) DeadLetter(ctx context.Context, deadLetter events.DeadLetter) error {
	if err := b.lives("dead letter"); err != nil {
		return err
	}
	return b.Bus.DeadLetter(ctx, deadLetter)
}

func (b *mortalBus) KV(ctx context.Context, name string) (events.KV, error) {
	if err := b.lives("report"); err != nil {
		return nil, err
	}
	return b.Bus.KV(ctx, name)
}

func (b *mortalBus) Claim(ctx context.Context, f events.Function, classes []string, wait time.Duration) (events.Claim, error) {
	if err := b.lives("claim"); err != nil {
		return nil, err
	}
	claim, err := b.Bus.Claim(ctx, f, classes, wait)
	if err != nil {
		return nil, err
	}
	return mortalClaim{claim, b}, nil
}

type mortalClaim struct {
	events.Claim
	bus *mortalBus
}

func (c mortalClaim) Ack(ctx context.Context) error {
	if err := c.bus.lives("ack"); err != nil {
		return err
	}
	return c.Claim.Ack(ctx)
}

func (c mortalClaim) Nak(ctx context.Context, delay time.Duration, cause events.FailureKind, why string) error {
	if err := c.bus.lives("nak"); err != nil {
		return err
	}
	return c.Claim.Nak(ctx, delay, cause, why)
}

// dieBefore has one worker work until it dies before an effect, and waits until its lease has
// expired.
func dieBefore(t *testing.T, bus events.Bus, effect string, f *function) {
	t.Helper()
	mortal := &mortalBus{Bus: bus, die: func(at string) bool { return at == effect }}
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
	defer stop()
	if err := worker.New(mortal, worker.Options{Functions: []worker.Function{f}}).Run(ctx); err != nil {
		t.Fatal(err)
	}
	if !mortal.dead {
		t.Fatalf("the worker did not reach its %s", effect)
	}
}

// trainsAs makes the model of the execution that a module's digest determines.
func trainsAs(digit string) func(context.Context, worker.Task) ([]events.Event, error) {
	return func(_ context.Context, task worker.Task) ([]events.Event, error) {
		return []events.Event{modelOf(task.Job, digit)}, nil
	}
}

func modelOf(job events.Job, digit string) events.Event {
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
			bus, later := offered(t), &function{handle: trainsAs("2")}
			dieBefore(t, bus, effect, &function{handle: trainsAs("1")})
			work(t, bus, later, 5*time.Minute)
			published := evs(t, bus, events.KindModelTrained)
			if len(published) != 1 || published[0].Data.(*events.ModelTrained).Model.URI != models || left(t, bus) {
				t.Errorf("died before its %s: events %+v, want one of %s", effect, published, models)
			}
			if effect == "ack" && later.calls.Load() != 0 {
				t.Error("an announced job was worked on")
			}
		})
	}
}

// The message of a completed job may be delivered again as the first attempt at it: a dispatcher
// that has lost its join enqueues it again.
func TestTheFirstAttemptAtAnAnnouncedJobDoesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bus, f := offered(t), &function{handle: trainsAs("2")}
		publish(t, bus, modelOf(queued(t, bus), "1"))
		work(t, bus, f, time.Minute)
		if published := evs(t, bus, events.KindModelTrained); len(published) != 1 || f.calls.Load() != 0 || left(t, bus) {
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
			bus, f := bustest.NewMemory(0), &function{handle: trainsAs("1")}
			job := queued(t, offered(t))
			publish(t, bus, modelOf(job, "0"))
			publish(t, bus, events.NewJobFailed(job, events.Attempt{Number: 1}, &events.Failure{Kind: events.FailureModule, Err: errors.New("x")}))
			change(&job)
			if err := bus.Enqueue(t.Context(), job); err != nil {
				t.Fatal(err)
			}
			work(t, bus, f, time.Minute)
			if published := evs(t, bus, events.KindModelTrained); len(published) != 2 || f.calls.Load() != 1 || left(t, bus) {
				t.Errorf("%s: %d events, worked on %d times", name, len(published), f.calls.Load())
			}
		})
	}
}

func TestAJobOfAnEndedRunIsNotWorkedOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bus, f := offered(t), &function{handle: trainsAs("1")}
		publish(t, bus, ended(events.FailureCancelled))
		work(t, bus, f, time.Minute)
		wantEndedOnly(t, bus)
		if f.calls.Load() != 0 {
			t.Errorf("worked on %d times", f.calls.Load())
		}
	})
}

// The run ends while its job is worked on, whatever its result.
func TestNothingIsPublishedForAJobWhoseRunEndsMeanwhile(t *testing.T) {
	t.Parallel()
	for name, then := range map[string]func(context.Context, worker.Task) ([]events.Event, error){
		"a model": trainsAs("1"), "a failure": fails(events.FailureModule), "a cancellation": fails(events.FailureCancelled),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				bus := offered(t)
				f := &function{handle: func(ctx context.Context, task worker.Task) ([]events.Event, error) {
					publish(t, bus, ended(events.FailureIncomplete))
					return then(ctx, task)
				}}
				work(t, bus, f, time.Hour)
				wantEndedOnly(t, bus)
			})
		})
	}
}

// The function of a cancelled job ends what the job's attempts have begun, though the run's end is
// in the log already.
func TestTheFunctionEndsACancelledJobOfAnEndedRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bus, f := offered(t), &function{handle: fails(events.FailureCancelled)}
		if err := bus.Cancel(t.Context(), "j1"); err != nil {
			t.Fatal(err)
		}
		publish(t, bus, ended(events.FailureCancelled))
		work(t, bus, f, time.Minute)
		wantEndedOnly(t, bus)
		if f.calls.Load() != 1 {
			t.Errorf("worked on %d times", f.calls.Load())
		}
	})
}

// wantEndedOnly checks that the job is off its queue with no event but the run's end, and without a
// dead letter.
func wantEndedOnly(t *testing.T, bus *bustest.Memory) {
	t.Helper()
	models, failures := evs(t, bus, events.KindModelTrained), evs(t, bus, events.KindTrainingFailed)
	if len(models) != 0 || len(failures) != 1 || len(dead(t, bus)) != 0 || left(t, bus) {
		t.Errorf("models %+v, failures %+v, %d dead letters", models, failures, len(dead(t, bus)))
	}
}

func ended(kind events.FailureKind) events.Event {
	return events.NewRunEnded(events.RunEnded{
		Pipeline: "penguin", Run: "monday", At: time.Unix(1, 0), Failure: &events.Failure{Kind: kind, Err: errors.New("it is over")},
	})
}

func publish(t *testing.T, bus events.Bus, event events.Event) {
	t.Helper()
	if _, err := bus.Publish(t.Context(), event); err != nil {
		t.Error(err)
	}
}

// queued returns the job on the queue.
func queued(t *testing.T, bus events.Bus) events.Job {
	t.Helper()
	message, err := bus.Queued(t.Context(), "j1")
	if err != nil {
		t.Fatal(err)
	}
	job, err := events.DecodeJob(message.Body)
	if err != nil {
		t.Fatal(err)
	}
	return job
}
