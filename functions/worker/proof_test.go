package worker_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/worker"
)

// frozenBus is the bus of a worker that is frozen right after an effect, for longer than its lease.
// Another worker settles the job meanwhile.
type frozenBus struct {
	events.Bus
	after   string
	frozen  bool
	settles func()
	effects []string // after it continued
}

func (b *frozenBus) did(effect string) {
	if b.frozen {
		b.effects = append(b.effects, effect)
	} else if effect == b.after {
		b.frozen = true
		b.settles()
	}
}

func (b *frozenBus) DeadLetter(ctx context.Context, deadLetter events.DeadLetter) error {
	defer b.did("dead letter")
	return b.Bus.DeadLetter(ctx, deadLetter)
}

func (b *frozenBus) Publish(ctx context.Context, f events.Event) (events.Receipt, error) {
	defer b.did("event")
	return b.Bus.Publish(ctx, f)
}

func (b *frozenBus) Claim(ctx context.Context, f events.Function, classes []string, wait time.Duration) (events.Claim, error) {
	claim, err := b.Bus.Claim(ctx, f, classes, wait)
	if err != nil {
		return nil, err
	}
	return frozenClaim{claim, b}, nil
}

type frozenClaim struct {
	events.Claim
	bus *frozenBus
}

func (c frozenClaim) KeepAlive(ctx context.Context, work func(context.Context) error) error {
	defer c.bus.did("work")
	return c.Claim.KeepAlive(ctx, work)
}

// A job that is given up or cancelled has its effects after the work, when no heartbeat renews its
// lease.
func TestAWorkerThatLosesItsLeaseWhileItGivesUpDoesNothingMore(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		kind  events.FailureKind
		after string
	}{
		"given up, before the dead letter":  {events.FailureInput, "work"},
		"given up, before the event":        {events.FailureInput, "dead letter"},
		"given up, before the ack":          {events.FailureInput, "event"},
		"cancelled, before the event":       {events.FailureCancelled, "work"},
		"cancelled, before the ack":         {events.FailureCancelled, "event"},
		"its model fails, before the event": {events.FailureCheck, "dead letter"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				memory := offered(t)
				bus := &frozenBus{Bus: memory, after: tc.after, settles: func() { time.Sleep(2 * time.Minute) }}
				once(t, bus, &function{handle: fails(tc.kind)})
				if !bus.frozen || len(bus.effects) != 0 {
					t.Errorf("after it was frozen (%t): %v", bus.frozen, bus.effects)
				}
				work(t, memory, &function{handle: fails(tc.kind)}, time.Hour)
				if published := evs(t, memory, events.KindTrainingFailed); len(published) != 1 || left(t, memory) {
					t.Errorf("%d events, want one", len(published))
				}
			})
		})
	}
}

// once works on one job.
func once(t *testing.T, bus events.Bus, f *function) {
	t.Helper()
	if worked, err := worker.New(bus, worker.Options{Functions: []worker.Function{f}}).Once(t.Context(), 5*time.Minute); !worked {
		t.Errorf("no work: %v", err)
	}
}

// A job that an attempt has given up stays so if the attempt dies before it has announced that: no
// later attempt works on the job, which might succeed despite its dead letter.
func TestAGivenUpJobIsNotWorkedOnByTheNextWorker(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]string{"died before the event": "dead letter", "died before the ack": "event"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				memory := offered(t)
				bus := &frozenBus{Bus: memory, after: after, settles: func() { time.Sleep(2 * time.Minute) }}
				once(t, bus, &function{handle: fails(events.FailureInput)})
				next := &function{handle: trainsAs("1")}
				work(t, memory, next, time.Hour)
				published, deadLetters := evs(t, memory, events.KindTrainingFailed), dead(t, memory)
				if next.calls.Load() != 0 || len(evs(t, memory, events.KindModelTrained)) != 0 || left(t, memory) {
					t.Errorf("worked on %d times more", next.calls.Load())
				}
				if len(published) != 1 || published[0].Data.(*events.TrainingFailed).Message != "it went wrong" {
					t.Errorf("failures %+v", published)
				}
				if len(deadLetters) != 1 || deadLetters[0].Reason.Message != "it went wrong" {
					t.Errorf("dead letters %+v", deadLetters)
				}
			})
		})
	}
}
