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

// backlog is how many runs wait, with two events each, when dispatchers begin.
const backlog = 250

// dispatchPart measures how fast events are joined and become jobs, with 1 and 4 dispatchers, on
// file storage: as the server writes by default, and synced as production has it. The events of
// every other run are in the other order. For comparison, programs write the same messages with
// nats.go alone, once as many events at a time as the dispatchers handle, and once one at a time.
func dispatchPart() part {
	var groups []group
	for _, synced := range []bool{false, true} {
		suffix := map[bool]string{true: "-synced"}[synced]
		for _, dispatchers := range []int{1, 4} {
			groups = append(groups, dispatchRates(fmt.Sprintf("dispatched-events-by-%d%s", dispatchers, suffix), synced, dispatchers))
		}
		series := "event-to-job" + suffix
		groups = append(groups, group{
			rounds: 200, figures: tails(series, ""),
			setup: func(ctx context.Context, _ bench, r *recorder) error {
				return withDeployed(ctx, synced, func(on ownBus, bus events.Bus) error {
					return withDispatchers(ctx, on, 1, nil, func(ctx context.Context) error {
						return r.run(ctx, func(round int) error {
							took, err := eventToJob(ctx, bus, runEvents(round))
							r.addTime(series, took)
							return err
						})
					})
				})
			},
		})
	}
	return part{"dispatch", groups}
}

func dispatchRates(name string, synced bool, dispatchers int) group {
	rate := func(suffix string, p peer) spec {
		return spec{name: name + suffix, unit: perSecond, more: true, of: "ours", peers: []peer{p}}
	}
	return group{
		rounds: 5,
		figures: []spec{
			rate("-p50", peer{name: fmt.Sprintf("%s, %d at once", rawName, dispatch.DefaultConcurrency), series: "raw"}),
			rate("-to-one-at-a-time-p50", peer{name: rawName + ", one at a time", series: "raw by one"}),
		},
		setup: func(ctx context.Context, _ bench, r *recorder) error {
			seen, err := observeDispatcher(ctx)
			if err != nil {
				return err
			}
			take := func(series string, measure func() (float64, error)) turn {
				return func(int) error {
					rate, err := measure()
					r.add(series, rate)
					return err
				}
			}
			return r.run(ctx,
				take("ours", func() (float64, error) { return dispatchRate(ctx, synced, dispatchers) }),
				take("raw", func() (float64, error) {
					return rawDispatchRate(ctx, synced, dispatchers, dispatch.DefaultConcurrency, seen)
				}),
				take("raw by one", func() (float64, error) { return rawDispatchRate(ctx, synced, dispatchers, 1, seen) }))
		},
	}
}

// dispatchRate returns how many events a second are joined and dispatched, from the start of the
// dispatchers to the last job on the queue.
func dispatchRate(ctx context.Context, synced bool, dispatchers int) (rate float64, err error) {
	err = withBacklog(ctx, synced, func(on ownBus) error {
		enqueued := newTally(backlog)
		began := time.Now()
		err := withDispatchers(ctx, on, dispatchers, enqueued, enqueued.wait)
		rate = 2 * backlog / enqueued.last.Sub(began).Seconds()
		return err
	})
	return rate, err
}

// eventToJob returns the time from before a run's last event is published until a worker has its
// job.
func eventToJob(ctx context.Context, bus events.Bus, evs []events.Event) (took time.Duration, err error) {
	if err := publishAll(ctx, bus, evs[:1]); err != nil {
		return 0, err
	}
	claiming, ctx := errgroup.WithContext(ctx)
	var began, claimed time.Time
	claiming.Go(func() error {
		for {
			claim, err := bus.Claim(ctx, events.FunctionTrain, []string{"cpu"}, roundTimeout)
			claimed = time.Now()
			if err != nil {
				return err
			}
			run, err := settle(ctx, bus, claim)
			if err != nil || run == evs[0].Run {
				return err
			} // else the job of an earlier run, which the first sweep has enqueued again
		}
	})
	claiming.Go(func() error {
		time.Sleep(2 * time.Millisecond) // as a rule the worker waits before there is a job
		began = time.Now()
		return publishAll(ctx, bus, evs[1:])
	})
	err = claiming.Wait()
	return claimed.Sub(began), err
}

// settle publishes an outcome before it acknowledges a job: else the dispatcher takes the job for
// lost and enqueues it again, into the next round.
func settle(ctx context.Context, bus events.EventLog, claim events.Claim) (run string, err error) {
	job, err := claim.Job()
	if err == nil {
		err = publishAll(ctx, bus, noModel(job))
	}
	if err != nil {
		return "", err
	}
	return job.Run, claim.Ack(ctx)
}

// withDeployed runs a bus on which the demo's pipeline is deployed, which joins two events.
func withDeployed(ctx context.Context, synced bool, do func(ownBus, events.Bus) error) error {
	spec, err := pipeline.Parse(demo.PipelineFile())
	if err != nil {
		return err
	}
	return withOwnBus(ctx, synced, 0, func(on ownBus) error {
		return on.connect(ctx, jetstream.Options{}, func(bus events.Bus) error {
			if _, _, err := dispatch.Apply(ctx, bus, spec); err != nil {
				return err
			}
			return do(on, bus)
		})
	})
}

// withBacklog runs a bus on which the events of backlog runs wait for dispatchers.
func withBacklog(ctx context.Context, synced bool, do func(ownBus) error) error {
	return withDeployed(ctx, synced, func(on ownBus, bus events.Bus) error {
		for run := range backlog {
			if err := publishAll(ctx, bus, runEvents(run)); err != nil {
				return err
			}
		}
		return do(on)
	})
}

// withDispatchers runs n of them, with a connection each, while do runs.
func withDispatchers(ctx context.Context, on ownBus, n int, enqueued *tally, do func(context.Context) error) error {
	running, ctx := errgroup.WithContext(ctx)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for range n {
		running.Go(func() error {
			return on.connect(ctx, jetstream.Options{}, func(bus events.Bus) error {
				d, err := dispatch.New(ctx, countingBus{bus, enqueued}, nil)
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

// runEvents returns the events of one run, in one order or the other.
func runEvents(run int) []events.Event {
	evs := demo.Events(storage.Ref{Bucket: "stoker", Key: "demo"}, fmt.Sprintf("run-%d", run))
	if run%2 == 1 {
		evs[0], evs[1] = evs[1], evs[0]
	}
	return evs
}
