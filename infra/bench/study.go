package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/execution/tuner"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/studies"
	"github.com/stoker-ml/stoker/functions/worker"
	"github.com/stoker-ml/stoker/storage"
)

// The studies that are measured.
const (
	noopTrials    = 2000
	sleepSlots    = 16
	sleepTrials   = 10 * sleepSlots
	longerTrials  = 40 * sleepSlots // of which the start is a smaller part
	sleepPerTrial = 500 * time.Millisecond

	studyPatience = 5 * time.Minute
)

// study measures what is around the trials of a search, on a bus, a store and workers in this
// process: how many a second, of trials that do nothing, on two workers of one slot, and two
// programs that append as many entries to logs with nats.go alone; and how much of the time that 16
// slots have is spent in trials that sleep.
func (b bench) study(ctx context.Context) ([]figure, error) {
	var rates, raws, shares, longer samples
	for range b.times(3) {
		rate, err := studied(ctx, studySetting{workers: 2, slots: 1, trials: noopTrials})
		if err != nil {
			return nil, err
		}
		rates = append(rates, noopTrials/rate.Seconds())
		raw, err := rawTrialRate(ctx, 2)
		if err != nil {
			return nil, err
		}
		raws = append(raws, raw)
		for trials, to := range map[int]*samples{sleepTrials: &shares, longerTrials: &longer} {
			took, err := studied(ctx, studySetting{workers: 1, slots: sleepSlots, trials: trials, sleep: sleepPerTrial})
			if err != nil {
				return nil, err
			}
			ideal := time.Duration(trials/sleepSlots) * sleepPerTrial
			*to = append(*to, ideal.Seconds()/took.Seconds())
		}
	}
	return []figure{
		alone("noop-trials-p50", perSecond, rates.quantile(0.5), rates, "> 300").comparedWith(rawName, rates, raws),
		alone("sleeping-trials-efficiency-p50", fraction, shares.quantile(0.5), shares, "> 0.9"),
		alone("sleeping-trials-efficiency-longer-p50", fraction, longer.quantile(0.5), longer, "> 0.9"),
	}, nil
}

// studySetting is a study of trials that sleep, and its workers.
type studySetting struct {
	workers, slots, trials int
	sleep                  time.Duration
}

// sleepers is the study, as the module of this program says it.
func sleepers(_ context.Context, a *module.Args) (tune.Config, error) {
	number := func(key string) int { n, _ := a.CustomConfig[key].(float64); return int(n) }
	return tune.Config{
		Space:      space.Space{{Name: "x", Kind: space.Float, Max: 1, Sampling: space.Linear, Default: 0.0}},
		Objectives: []tune.Objective{{Name: "loss", Direction: tune.Min}},
		Algorithm:  tune.Algorithm{Name: tune.Random}, MaxTrials: number("trials"), Parallel: number("parallel"),
	}, nil
}

// sleep is one trial.
func sleep(ctx context.Context, a *module.Args) error {
	ms, _ := a.CustomConfig["sleep_ms"].(float64)
	if ms > 0 {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Duration(ms) * time.Millisecond):
		}
	}
	a.Result(map[string]float64{"loss": ms})
	return nil
}

// studied is how long a study takes by its log: from when its first trial begins to when the last
// one has ended.
func studied(ctx context.Context, s studySetting) (took time.Duration, err error) {
	err = withOwnBus(ctx, false, 0, func(ctx context.Context, on ownBus) error {
		return withOwnStore(ctx, func(store storage.Store) error {
			return on.with(ctx, jetstream.Options{}, func(bus events.Bus) error {
				job, err := s.job(ctx, store)
				if err != nil {
					return err
				}
				if err := bus.Enqueue(ctx, job); err != nil {
					return err
				}
				working, stop := context.WithCancel(ctx)
				running, working := errgroup.WithContext(working)
				for range s.workers {
					running.Go(func() error { return s.work(working, on, store) })
				}
				took, err = searched(ctx, bus)
				stop()
				return errors.Join(err, running.Wait())
			})
		})
	})
	return took, err
}

// searched waits for what comes of the study, and reads how long its trials took.
func searched(ctx context.Context, bus events.Bus) (time.Duration, error) {
	waiting, cancel := context.WithTimeout(ctx, studyPatience)
	defer cancel()
	for recorded, err := range bus.Read(waiting, events.Query{Pipeline: "bench", Follow: true}) {
		if err != nil {
			return 0, err
		}
		if _, ready := recorded.Event.Data.(*events.HParamsReady); !ready {
			return 0, fmt.Errorf("got %s: %+v", recorded.Event.Data.Kind(), recorded.Event.Data)
		}
		break
	}
	for newest, err := range bus.Studies(ctx, "bench") {
		if err != nil {
			return 0, err
		}
		return trialsTook(ctx, bus, newest.Study)
	}
	return 0, errors.New("the study has no log")
}

// trialsTook is from when a study's first trial began to when its last one ended.
func trialsTook(ctx context.Context, bus events.Bus, study events.Study) (time.Duration, error) {
	s, err := studies.Read(ctx, bus, study)
	switch {
	case err != nil:
		return 0, err
	case len(s.Study.Trials) == 0:
		return 0, fmt.Errorf("study %s has no trials", study.ID)
	}
	last := slices.MaxFunc(s.Study.Trials, func(a, b *tune.Trial) int { return a.Ended.Compare(b.Ended) })
	return last.Ended.Sub(s.Study.Trials[0].Started), nil
}

// work is one worker, with processes and a connection of its own.
func (s studySetting) work(ctx context.Context, on ownBus, store storage.Store) error {
	builtins := map[string]string{noopName: "builtin:noop@1"}
	host, err := runner.New(runner.Options{Args: []string{noopName}, Builtins: builtins, Warm: s.slots, Slots: s.slots})
	if err != nil {
		return err
	}
	defer host.Close()
	dir, err := os.MkdirTemp("", "stoker-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return on.with(ctx, jetstream.Options{}, func(bus events.Bus) error {
		search := tuner.New(execution.New(store, host, execution.Options{Root: storage.Ref{Bucket: studyBucket}, WorkDir: dir}), bus)
		return worker.New(bus, worker.Options{Functions: []worker.Function{search, search.Trials()}, Slots: s.slots}).Run(ctx)
	})
}

const studyBucket = "bench"

// job is the study's tune job, whose inputs are put into the store.
func (s studySetting) job(ctx context.Context, store storage.Store) (events.Job, error) {
	for _, key := range []string{"rows/Split-train/data", "rows/Split-eval/data"} {
		if _, err := store.Put(ctx, storage.Ref{Bucket: studyBucket, Key: key}, strings.NewReader("rows"), 4); err != nil {
			return events.Job{}, err
		}
	}
	spec, err := pipeline.Parse("study.yaml", fmt.Appendf(nil, `
pipeline: bench
module: builtin:noop
trainer: {train_args: {num_steps: 1}}
tuner: {when: always, custom_config: {trials: %d, parallel: %d, sleep_ms: %d}}
`, s.trials, s.workers*s.slots, s.sleep.Milliseconds()))
	if err != nil {
		return events.Job{}, err
	}
	job := benchJob(0)
	job.Function = events.FunctionTune
	job.Inputs = events.Inputs{TransformedExamples: []events.Examples{{URI: "s3://" + studyBucket + "/rows"}}}
	job.Spec, err = spec.JSON()
	return job, err
}
