package worker_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/worker"
)

// killWorkers has n workers die with the job in turn, as when their pods run out of memory: the
// lease is not released.
func killWorkers(t *testing.T, bus events.Bus, n int) {
	t.Helper()
	for range n {
		if _, err := bus.Claim(t.Context(), events.FunctionTrain, []string{"cpu"}, 5*time.Minute); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAJobThatKillsItsWorkersIsGivenUp(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		limits worker.Limits
		lost   int
		done   bool
	}{
		"one less than the default": {worker.Limits{}, 4, true},
		"the default":               {worker.Limits{Attempts: 9, Crashes: 9}, 5, false},
		"a limit of its own":        {worker.Limits{Attempts: 9, Crashes: 9, Lost: 2}, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				bus, f := offered(t), &function{handle: trainsAs("1"), limits: tc.limits}
				killWorkers(t, bus, tc.lost)
				work(t, bus, f, time.Hour)
				models, failures := evs(t, bus, events.KindModelTrained), evs(t, bus, events.KindTrainingFailed)
				if left(t, bus) || (f.calls.Load() == 1) != tc.done || (len(models) == 1) != tc.done || (len(failures) == 0) != tc.done {
					t.Fatalf("worked on %d times, models %v, failures %v", f.calls.Load(), models, failures)
				}
				if !tc.done {
					wantLost(t, bus, failures, tc.lost)
				}
			})
		})
	}
}

// wantLost checks for one failure that names how many workers died, and for a dead letter with it.
func wantLost(t *testing.T, bus events.Bus, failures []events.Event, lost int) {
	t.Helper()
	failed, deadLetters := failures[0].Data.(*events.TrainingFailed), dead(t, bus)
	says := map[int]string{2: "2 workers died", 5: "5 workers died"}[lost]
	if len(failures) != 1 || failed.Reason != events.FailureCrash || !strings.Contains(failed.Message, says) {
		t.Errorf("%d failures, the first %+v, want one crash that says %q", len(failures), failed, says)
	}
	if len(deadLetters) != 1 || deadLetters[0].Reason.Kind != events.FailureCrash || !strings.Contains(deadLetters[0].Reason.Message, says) {
		t.Errorf("dead letters %+v", deadLetters)
	}
}

// A worker that is drained, as by SIGTERM, releases its lease.
func TestAJobOfWorkersThatAreDrainedIsNeverGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bus := offered(t)
		killWorkers(t, bus, 4)
		until := func(ctx context.Context, _ worker.Task) ([]events.Event, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		for range 20 {
			work(t, bus, &function{handle: until}, 5*time.Minute)
		}
		f := &function{handle: trainsAs("1")}
		work(t, bus, f, 5*time.Minute)
		if published := evs(t, bus, events.KindModelTrained); len(published) != 1 || f.calls.Load() != 1 {
			t.Errorf("%d models, worked on %d times", len(published), f.calls.Load())
		}
	})
}

// When a dead letter is retried, its lost workers are counted anew.
func TestARetriedJobCountsItsLostWorkersAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bus, f := offered(t), &function{handle: trainsAs("1")}
		job := queued(t, bus)
		killWorkers(t, bus, 5)
		work(t, bus, f, time.Hour)
		job.Request = "dead-1"
		if err := bus.Enqueue(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		work(t, bus, f, time.Hour)
		if published := evs(t, bus, events.KindModelTrained); len(published) != 1 || f.calls.Load() != 1 {
			t.Errorf("%d models, worked on %d times", len(published), f.calls.Load())
		}
	})
}

// cutBus is the bus of a worker whose connection may be cut.
type cutBus struct {
	events.Bus
	mu  sync.Mutex
	cut bool
}

var errCut = errors.New("no answer from the bus")

func (b *cutBus) set(cut bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cut = cut
}

func (b *cutBus) up() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cut {
		return errCut
	}
	return nil
}

func (b *cutBus) KV(ctx context.Context, name string) (events.KV, error) {
	if err := b.up(); err != nil {
		return nil, err
	}
	return b.Bus.KV(ctx, name)
}

func (b *cutBus) Claim(ctx context.Context, f events.Function, classes []string, wait time.Duration) (events.Claim, error) {
	if err := b.up(); err != nil {
		return nil, err
	}
	claim, err := b.Bus.Claim(ctx, f, classes, wait)
	if err != nil {
		return nil, err
	}
	return cutClaim{claim, b}, nil
}

// cutClaim loses its lease when its bus is cut.
type cutClaim struct {
	events.Claim
	bus *cutBus
}

func (c cutClaim) KeepAlive(ctx context.Context, work func(context.Context) error) error {
	err := c.Claim.KeepAlive(ctx, work)
	if c.bus.up() != nil {
		return events.ErrLeaseLost
	}
	return err
}

func (c cutClaim) Ack(ctx context.Context) error {
	if err := c.bus.up(); err != nil {
		return err
	}
	return c.Claim.Ack(ctx)
}

// The bus is away repeatedly until the lease has expired. When it is back another worker takes over
// the job, at times before the old worker, which is alive, can report.
func TestAnOutageOfTheBusEndsNoJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		memory := offered(t)
		var running sync.WaitGroup
		for range 12 {
			bus := &cutBus{Bus: memory}
			f := &function{handle: func(context.Context, worker.Task) ([]events.Event, error) {
				bus.set(true)
				return nil, nil
			}}
			running.Go(func() { once(t, bus, f) })
			// Its lease has expired long before.
			time.AfterFunc(10*time.Minute, func() { bus.set(false) })
			time.Sleep(5 * time.Minute)
		}
		f := &function{handle: trainsAs("1")}
		work(t, memory, f, time.Hour)
		running.Wait()
		if published := evs(t, memory, events.KindModelTrained); len(published) != 1 || len(dead(t, memory)) != 0 {
			t.Errorf("%d models, dead letters %+v", len(published), dead(t, memory))
		}
	})
}

// A worker without a bus has no job that it could fail to settle. It reports the outage once,
// however long it lasts.
func TestAnOutageIsReportedOnceByAnIdleWorker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bus := &cutBus{Bus: bustest.NewMemory(0)}
		bus.set(true)
		time.AfterFunc(time.Hour, func() { bus.set(false) })
		var log strings.Builder
		ctx, stop := context.WithTimeout(t.Context(), 2*time.Hour)
		defer stop()
		opts := worker.Options{Functions: []worker.Function{&function{}}, Logger: slog.New(slog.NewTextHandler(&log, nil))}
		if err := worker.New(bus, opts).Run(ctx); err != nil {
			t.Error(err)
		}
		said := log.String()
		if strings.Count(said, "\n") != 2 || strings.Count(said, "jobs can't be claimed") != 1 || !strings.Contains(said, "level=INFO msg=\"jobs are claimed again\"") {
			t.Errorf("logged:\n%s", said)
		}
	})
}

// The attempt that would be one too many begins before the reports of live workers arrive.
func TestAJobWaitsForReportsOfItsWorkersBeforeItIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		memory := offered(t)
		killWorkers(t, memory, 4)
		bus := &cutBus{Bus: memory}
		var running sync.WaitGroup
		running.Go(func() {
			once(t, bus, &function{handle: func(context.Context, worker.Task) ([]events.Event, error) {
				bus.set(true)
				return nil, nil
			}})
		})
		time.Sleep(10 * time.Minute) // until the fifth worker has lost its lease
		f := &function{handle: trainsAs("1")}
		running.Go(func() {
			time.Sleep(2 * time.Second)
			bus.set(false)
		})
		work(t, memory, f, time.Hour)
		running.Wait()
		if published := evs(t, memory, events.KindModelTrained); len(published) != 1 || f.calls.Load() != 1 || len(dead(t, memory)) != 0 {
			t.Errorf("%d models, worked on %d times, dead letters %+v", len(published), f.calls.Load(), dead(t, memory))
		}
	})
}
