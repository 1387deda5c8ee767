package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/local/demo"
	"github.com/stoker-ml/stoker/storage"
)

// backlog is how many runs wait, with two facts each, when dispatchers begin.
const backlog = 250

// dispatch measures how fast events are joined and jobs come of them, with 1 and 4 dispatchers, on
// file storage: as the server writes by default, and synced as production has it. Every other run's
// events come in the other order. For comparison, programs write the same messages with nats.go
// alone, once as many events at a time as the dispatchers handle, and once one at a time.
func (b bench) dispatch(ctx context.Context) (all []figure, err error) {
	seen, err := seeDispatched(ctx)
	if err != nil {
		return nil, err
	}
	for _, storage := range []struct {
		name   string
		synced bool
	}{{"", false}, {"-synced", true}} {
		for _, dispatchers := range []int{1, 4} {
			rates, err := b.dispatchRates(ctx, storage.synced, dispatchers, seen)
			if err != nil {
				return nil, err
			}
			name := fmt.Sprintf("dispatched-events-by-%d%s", dispatchers, storage.name)
			all = append(all, rates.figures(name)...)
		}
		took, err := dispatchLatency(ctx, storage.synced, b.times(200))
		if err != nil {
			return nil, err
		}
		name := "event-to-job" + storage.name
		all = append(all, alone(name+"-p50", milliseconds, took.quantile(0.5), took, ""), alone(name+"-p99", milliseconds, took.quantile(0.99), took, ""))
	}
	return all, nil
}

// dispatchRates are events a second: ours, and those of raw JetStream.
type dispatchRates struct{ ours, raw, rawByOne samples }

// dispatchRates measures them in turn, so that a machine that changes its speed changes it for all.
func (b bench) dispatchRates(ctx context.Context, synced bool, dispatchers int, seen dispatched) (r dispatchRates, err error) {
	for range b.times(5) {
		ours, err := dispatchRate(ctx, synced, dispatchers)
		if err != nil {
			return r, err
		}
		raw, err := rawDispatchRate(ctx, synced, dispatchers, dispatch.DefaultConcurrency, seen)
		if err != nil {
			return r, err
		}
		one, err := rawDispatchRate(ctx, synced, dispatchers, 1, seen)
		if err != nil {
			return r, err
		}
		r.ours, r.raw, r.rawByOne = append(r.ours, ours), append(r.raw, raw), append(r.rawByOne, one)
	}
	return r, nil
}

// figures are the rate of ours with the median of the rounds' ratios to each peer.
func (r dispatchRates) figures(name string) []figure {
	ours := alone(name+"-p50", perSecond, r.ours.quantile(0.5), r.ours, "")
	return []figure{
		ours.comparedWith(fmt.Sprintf("%s, %d at once", rawName, dispatch.DefaultConcurrency), r.ours, r.raw),
		renamed(ours, name+"-to-one-at-a-time-p50").comparedWith(rawName+", one at a time", r.ours, r.rawByOne),
	}
}

func renamed(f figure, name string) figure {
	f.Name = name
	return f
}

// seeDispatched looks what a dispatcher that handles one event at a time, and doesn't sweep, writes
// for a run.
func seeDispatched(ctx context.Context) (seen dispatched, err error) {
	err = withDispatched(ctx, false, func(ctx context.Context, on ownBus, bus events.Bus) error {
		evs := benchEvents(0)
		if err := publishAll(ctx, bus, evs); err != nil {
			return err
		}
		sent, err := withWiretap(on, func(tapped ownBus) error {
			return tapped.with(ctx, jetstream.Options{}, func(bus events.Bus) error {
				d, err := dispatch.New(ctx, bus, nil)
				for range evs {
					if err == nil {
						err = d.Next(ctx, patience)
					}
				}
				return err
			})
		})
		if err != nil {
			return err
		}
		seen, err = asDispatched(sent, evs[0].Run)
		return err
	})
	return seen, err
}

// withBacklog runs a bus on which the events of backlog runs wait for dispatchers.
func withBacklog(ctx context.Context, synced bool, do func(context.Context, ownBus) error) error {
	return withDispatched(ctx, synced, func(ctx context.Context, on ownBus, bus events.Bus) error {
		for run := range backlog {
			if err := publishAll(ctx, bus, benchEvents(run)); err != nil {
				return err
			}
		}
		return do(ctx, on)
	})
}

// dispatchRate is how many events a second are joined and dispatched, from the start of the
// dispatchers to the last job on the queue.
func dispatchRate(ctx context.Context, synced bool, dispatchers int) (rate float64, err error) {
	err = withBacklog(ctx, synced, func(ctx context.Context, on ownBus) error {
		offered := newTally(backlog)
		began := time.Now()
		err := withDispatchers(ctx, on, dispatchers, offered, func(ctx context.Context) error { return offered.wait(ctx) })
		rate = 2 * backlog / offered.last.Sub(began).Seconds()
		return err
	})
	return rate, err
}

// dispatchLatency is the time from before a run's last fact is published until a worker has its
// job, one run at a time.
func dispatchLatency(ctx context.Context, synced bool, rounds int) (took samples, err error) {
	err = withDispatched(ctx, synced, func(ctx context.Context, on ownBus, bus events.Bus) error {
		return withDispatchers(ctx, on, 1, nil, func(ctx context.Context) error {
			for round := range rounds {
				one, err := eventToJob(ctx, bus, benchEvents(round))
				if err != nil {
					return err
				}
				took.addTime(one)
			}
			return nil
		})
	})
	return took, err
}

func eventToJob(ctx context.Context, bus events.Bus, evs []events.Event) (took time.Duration, err error) {
	if err := publishAll(ctx, bus, evs[:1]); err != nil {
		return 0, err
	}
	taking, ctx := errgroup.WithContext(ctx)
	var began, taken time.Time
	taking.Go(func() error {
		for {
			claim, err := bus.Claim(ctx, events.FunctionTrain, []string{"cpu"}, patience)
			taken = time.Now()
			if err != nil {
				return err
			}
			job, err := claim.Job()
			if err = errors.Join(err, settle(ctx, bus, claim)); err != nil || job.Run == evs[0].Run {
				return err
			} // else the job of an earlier run, which the first sweep has enqueued again
		}
	})
	taking.Go(func() error {
		time.Sleep(2 * time.Millisecond) // the worker waits before there is anything, as a rule
		began = time.Now()
		return publishAll(ctx, bus, evs[1:])
	})
	err = taking.Wait()
	return taken.Sub(began), err
}

// settle publishes an outcome before it acknowledges a job: else the dispatcher takes the job for
// lost and enqueues it again, into the next round.
func settle(ctx context.Context, bus events.Bus, claim events.Claim) error {
	job, err := claim.Job()
	if err != nil {
		return err
	}
	execution := "sha256:" + events.DerivedID(job.ID) + events.DerivedID(job.ID)
	for _, f := range unmade(job, execution) {
		if _, err := bus.Publish(ctx, f); err != nil {
			return err
		}
	}
	return claim.Ack(ctx)
}

// withDispatched runs a bus with the demo's pipeline deployed, which joins two facts.
func withDispatched(ctx context.Context, synced bool, do func(context.Context, ownBus, events.Bus) error) error {
	spec, err := pipeline.Parse(demo.PipelineFile())
	if err != nil {
		return err
	}
	return withOwnBus(ctx, synced, 0, func(ctx context.Context, on ownBus) error {
		return on.with(ctx, jetstream.Options{}, func(bus events.Bus) error {
			if _, _, err := dispatch.Apply(ctx, bus, spec); err != nil {
				return err
			}
			return do(ctx, on, bus)
		})
	})
}

// withDispatchers runs n of them, with a connection each, for as long as do runs.
func withDispatchers(ctx context.Context, on ownBus, n int, offered *tally, do func(context.Context) error) error {
	running, ctx := errgroup.WithContext(ctx)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for range n {
		running.Go(func() error {
			return on.with(ctx, jetstream.Options{}, func(bus events.Bus) error {
				d, err := dispatch.New(ctx, counted{bus, offered}, nil)
				if err != nil {
					return err
				}
				return d.Run(ctx)
			})
		})
	}
	running.Go(func() error { defer stop(); return do(ctx) })
	if err := running.Wait(); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// benchFacts are those of one run, in one order or the other.
func benchEvents(run int) []events.Event {
	evs := demo.Events(storage.Ref{Bucket: "stoker", Key: "demo"}, fmt.Sprintf("run-%d", run))
	if run%2 == 1 {
		evs[0], evs[1] = evs[1], evs[0]
	}
	return evs
}

func publishAll(ctx context.Context, bus events.Bus, evs []events.Event) error {
	for _, event := range evs {
		if _, err := bus.Publish(ctx, event); err != nil {
			return err
		}
	}
	return nil
}
