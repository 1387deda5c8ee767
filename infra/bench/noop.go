package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/worker"
)

// noopJobs is how many jobs wait in each round when the worker begins.
const noopJobs = 400

// noop measures what Stoker adds to a job that does nothing: lease, warm module process, event,
// acknowledgement. The worker has one slot, and there is no store in it. For comparison, a program
// writes the same messages with nats.go alone.
func (b bench) noop(ctx context.Context) (all []figure, err error) {
	var rates, raws, took samples
	err = withNoop(ctx, func(ctx context.Context, on ownBus, noop *noopFunction) error {
		seen, err := seeJob(ctx, on, noop)
		if err != nil {
			return err
		}
		next := len(seen.requests)
		for range b.times(5) {
			rate, err := noopRate(ctx, on, noop, next)
			if err != nil {
				return err
			}
			next += noopJobs
			raw, err := rawJobRate(ctx, on, seen, next)
			if err != nil {
				return err
			}
			rates, raws, next = append(rates, rate), append(raws, raw), next+noopJobs
		}
		took, err = noopLatency(ctx, on, noop, next, b.times(200))
		return err
	})
	if err != nil {
		return nil, err
	}
	return []figure{
		alone("noop-jobs-p50", perSecond, rates.quantile(0.5), rates, "> 200").comparedWith(rawName+", one at a time", rates, raws),
		alone("job-to-user-code-p50", milliseconds, took.quantile(0.5), took, "< 5"),
		alone("job-to-user-code-p99", milliseconds, took.quantile(0.99), took, ""),
	}, nil
}

// noopRate is how many jobs a second one slot works on, from the worker's start to the
// acknowledgement of the last.
func noopRate(ctx context.Context, on ownBus, noop *noopFunction, first int) (rate float64, err error) {
	err = on.with(ctx, jetstream.Options{}, func(bus events.Bus) error {
		if err := offerJobs(ctx, bus, first, noopJobs); err != nil {
			return err
		}
		began := time.Now()
		if err := workOnJobs(ctx, bus, noop, noopJobs); err != nil {
			return err
		}
		rate = noopJobs / time.Since(began).Seconds()
		return nil
	})
	return rate, err
}

func offerJobs(ctx context.Context, bus events.Bus, first, n int) error {
	for i := range n {
		if err := bus.Enqueue(ctx, benchJob(first+i)); err != nil {
			return err
		}
	}
	return nil
}

func workOnJobs(ctx context.Context, bus events.Bus, noop *noopFunction, n int) error {
	w := worker.New(bus, worker.Options{Functions: []worker.Function{noop}})
	for i := range n {
		if worked, err := w.Once(ctx, patience); err != nil || !worked {
			return fmt.Errorf("job %d: worked %v: %w", i, worked, err)
		}
	}
	return nil
}

// seeJob looks what a worker sends for a job.
func seeJob(ctx context.Context, on ownBus, noop *noopFunction) (seen jobSeen, err error) {
	const jobs = 3
	err = on.with(ctx, jetstream.Options{}, func(bus events.Bus) error { return offerJobs(ctx, bus, 0, jobs) })
	if err != nil {
		return seen, err
	}
	sent, err := withWiretap(on, func(tapped ownBus) error {
		return tapped.with(ctx, jetstream.Options{}, func(bus events.Bus) error { return workOnJobs(ctx, bus, noop, jobs) })
	})
	if err != nil {
		return seen, err
	}
	return asJob(sent)
}

// noopLatency is the time from before a job is offered to the first word of the module's code, one
// job at a time.
func noopLatency(ctx context.Context, on ownBus, noop *noopFunction, first, rounds int) (took samples, err error) {
	noop.heard = make(chan time.Time, 1)
	err = on.with(ctx, jetstream.Options{}, func(bus events.Bus) error {
		running, ctx := errgroup.WithContext(ctx)
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		running.Go(func() error {
			return worker.New(bus, worker.Options{Functions: []worker.Function{noop}}).Run(ctx)
		})
		running.Go(func() error {
			defer stop()
			for round := range rounds {
				began := time.Now()
				if err := bus.Enqueue(ctx, benchJob(first+round)); err != nil {
					return err
				}
				select {
				case at := <-noop.heard:
					took.addTime(at.Sub(began))
				case <-ctx.Done():
					return context.Cause(ctx)
				}
				time.Sleep(10 * time.Millisecond) // until it is settled, and the slot waits again
			}
			return nil
		})
		return running.Wait()
	})
	return took, err
}

// withNoop runs a bus and a host with one warm process of this binary.
func withNoop(ctx context.Context, do func(context.Context, ownBus, *noopFunction) error) (err error) {
	host, err := runner.New(runner.Options{Args: []string{"noop"}, Builtins: map[string]string{noopName: "builtin:noop@1"}, Warm: 1})
	if err != nil {
		return err
	}
	defer host.Close()
	return withOwnBus(ctx, false, 0, func(ctx context.Context, on ownBus) error {
		noop := &noopFunction{host: host}
		if err := noop.warmUp(ctx); err != nil {
			return err
		}
		return do(ctx, on, noop)
	})
}

// noopFunction has a module do nothing, and returns the event of a model that does not exist.
type noopFunction struct {
	host  *runner.Runner
	heard chan time.Time // first words; nil: nobody asks
}

func (*noopFunction) Name() events.Function           { return events.FunctionTrain }
func (*noopFunction) Limits(events.Job) worker.Limits { return worker.Limits{Attempts: 1, Crashes: 1} }

func (n *noopFunction) Failed(task worker.Task, failure *events.Failure) events.Event {
	return events.NewJobFailed(task.Job, task.Attempt, failure)
}

func (n *noopFunction) Handle(ctx context.Context, task worker.Task) ([]events.Event, error) {
	if err := n.run(ctx); err != nil {
		return nil, events.Fail(events.FailureModule, err)
	}
	execution := "sha256:" + events.DerivedID(task.Job.ID) + events.DerivedID(task.Job.ID)
	return unmade(task.Job, execution), nil
}

// unmade is what a job leads to whose model nobody made.
func unmade(job events.Job, execution string) []events.Event {
	return []events.Event{events.NewModelTrained(job, &events.ModelTrained{
		Model:     events.Model{URI: "s3://bench/model", Digest: execution, Formats: []string{"Format-Serving"}},
		Execution: execution, Module: "builtin:noop@1", Inputs: []events.Artifact{}, Finished: time.Now(),
	})}
}

func (n *noopFunction) run(ctx context.Context) error {
	dir := os.TempDir() // the module writes nothing
	_, err := n.host.Run(ctx, module.Assignment{
		Version: module.ProtocolVersion, Module: module.Source{Path: module.BuiltinPrefix + noopName}, Call: module.CallTrain,
		WorkingDir: dir, TrainFiles: []string{dir}, ServingModelDir: dir,
	}, runner.Limits{}, func(module.Message) {
		select {
		case n.heard <- time.Now():
		default:
		}
	})
	return err
}

// warmUp has the first process start, which no job's time shall hold.
func (n *noopFunction) warmUp(ctx context.Context) error {
	return errors.Join(n.run(ctx), n.run(ctx))
}
