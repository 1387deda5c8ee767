package main

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/stoker-ml/stoker/functions/runs/studies"
	"github.com/stoker-ml/stoker/functions/worker"
	"github.com/stoker-ml/stoker/local/demo"
	"github.com/stoker-ml/stoker/storage"
)

// penguinSearch is the search that TFX's penguin example makes, 6 random trials of 20 steps,
// without code.
const penguinSearch = `
pipeline: penguin-search
module: builtin:dnn
trainer:
  train_args: {num_steps: 20}
  eval_args: {num_steps: 5}
  custom_config: {label: species, batch_size: 20}
tuner:
  when: always
  study: {algorithm: random, max_trials: 6}
`

// searchPart measures how long a search takes in a running `stoker up`, from the event that starts
// it to HParamsReady.
func searchPart() part {
	// TFX's own Tuner component took this for the same search, on a busy machine.
	tfx := peer{name: "TFX 1.16 Tuner component, once imported; recorded, not run again", recorded: 86.6e3}
	return part{"search", []group{{
		rounds: 20, warmUp: 1,
		figures: []spec{
			{name: "event-to-hparams-p50", unit: milliseconds, of: "took", goal: "< 1000", peers: []peer{tfx}},
			// Without the module's process, which stays.
			{name: "of-it-stack-cpu-mean", unit: cpuSeconds, of: "cpu", at: samples.mean},
			{name: "search-best-accuracy-mean", unit: fraction, of: "accuracy", at: samples.mean},
		},
		setup: func(ctx context.Context, b bench, r *recorder) error {
			spec, err := pipeline.Parse("search.yaml", []byte(penguinSearch))
			if err != nil {
				return err
			}
			return b.withClient(ctx, upOptions{}, func(ctx context.Context, c *client) error {
				return r.run(ctx, func(round int) error {
					if err := c.deploy(ctx, spec, round+1); err != nil {
						return err
					}
					return c.search(ctx, fmt.Sprintf("search-%d", round), r)
				})
			})
		},
	}}}
}

// search publishes the event that starts a search and waits for its result, and then for the
// training that follows, so that the next search has the machine to itself.
func (c *client) search(ctx context.Context, run string, r *recorder) error {
	ctx, cancel := context.WithTimeout(ctx, roundTimeout)
	defer cancel()
	evs := demo.Events(c.artifacts, run)
	event := evs[len(evs)-1]
	event.Pipeline = "penguin-search"
	before, err := cpuTime(c.pid)
	if err != nil {
		return err
	}
	began := time.Now()
	if _, err := c.bus.Publish(ctx, event); err != nil {
		return err
	}
	accuracy, err := c.awaitScore(ctx, event)
	if err != nil {
		return err
	}
	r.addTime("took", time.Since(began))
	r.add("accuracy", accuracy)
	after, err := cpuTime(c.pid)
	r.add("cpu", after-before)
	if err == nil {
		_, err = c.awaitModel(ctx, event)
	}
	return err
}

// awaitScore returns the score of a run's hyperparameters when they are ready.
func (c *client) awaitScore(ctx context.Context, of events.Event) (float64, error) {
	query := events.Query{
		// These events end a search.
		Kinds:    []events.Kind{events.KindHParamsReady, events.KindTuningFailed},
		Pipeline: of.Pipeline, Run: of.Run, Follow: true,
	}
	for recorded, err := range c.bus.Read(ctx, query) {
		if err != nil {
			return 0, err
		}
		switch data := recorded.Event.Data.(type) {
		case *events.TuningFailed:
			return 0, fmt.Errorf("run %s: its search failed: %s", of.Run, data.Message)
		case *events.HParamsReady:
			if data.Cached || data.Reused || data.Score == nil {
				return 0, fmt.Errorf("run %s: nothing was searched: %+v", of.Run, *data)
			}
			return *data.Score, nil
		default: // the query has no other kinds
		}
	}
	return 0, context.Cause(ctx)
}

// The studies of studyPart.
const (
	noopTrials    = 2000
	sleepSlots    = 16
	sleepTrials   = 10 * sleepSlots
	longerTrials  = 40 * sleepSlots // of which the start is a smaller part
	sleepPerTrial = 500 * time.Millisecond

	studyTimeout = 5 * time.Minute
)

// studyPart measures what surrounds the trials of a search, on a bus, a store and workers in this
// process: trials without work, in trials a second, on two workers of one slot, compared with two
// programs that append as many entries to logs with nats.go alone; and the share of the time of 16
// slots that is spent in trials that sleep.
func studyPart() part {
	return part{"study", []group{{
		rounds: 3,
		figures: []spec{
			{name: "noop-trials-p50", unit: perSecond, more: true, of: "noop", goal: "> 300", peers: []peer{{name: rawName, series: "raw"}}},
			{name: "sleeping-trials-efficiency-p50", unit: fraction, of: "short", goal: "> 0.9"},
			{name: "sleeping-trials-efficiency-longer-p50", unit: fraction, of: "long", goal: "> 0.9"},
		},
		setup: func(ctx context.Context, _ bench, r *recorder) error {
			sleeping := func(series string, trials int) turn {
				return func(int) error {
					took, err := study{workers: 1, slots: sleepSlots, trials: trials, sleep: sleepPerTrial}.run(ctx)
					r.add(series, float64(trials/sleepSlots)*sleepPerTrial.Seconds()/took.Seconds())
					return err
				}
			}
			return r.run(ctx,
				func(int) error {
					took, err := study{workers: 2, slots: 1, trials: noopTrials}.run(ctx)
					r.add("noop", noopTrials/took.Seconds())
					return err
				},
				func(int) error {
					rate, err := rawTrialRate(ctx, 2)
					r.add("raw", rate)
					return err
				},
				sleeping("short", sleepTrials), sleeping("long", longerTrials))
		},
	}}}
}

// study is a study of trials that sleep, and its workers.
type study struct {
	workers, slots, trials int
	sleep                  time.Duration
}

// sleepingStudy describes the study, as the module of this program.
func sleepingStudy(_ context.Context, a *module.Args) (tune.Config, error) {
	number := func(key string) int { n, _ := a.CustomConfig[key].(float64); return int(n) }
	return tune.Config{
		Space:      space.Space{{Name: "x", Kind: space.Float, Max: 1, Sampling: space.Linear, Default: 0.0}},
		Objectives: []tune.Objective{{Name: "loss", Direction: tune.Min}},
		Algorithm:  tune.Algorithm{Name: tune.Random}, MaxTrials: number("trials"), Parallel: number("parallel"),
	}, nil
}

// sleepingTrial returns one trial.
func sleepingTrial(ctx context.Context, a *module.Args) error {
	ms, _ := a.CustomConfig["sleep_ms"].(float64)
	if ms > 0 {
		if err := sleep(ctx, time.Duration(ms)*time.Millisecond); err != nil {
			return err
		}
	}
	a.Result(map[string]float64{"loss": ms})
	return nil
}

// run returns how long a study takes by its log: from when its first trial began to when the last
// one ended.
func (s study) run(ctx context.Context) (took time.Duration, err error) {
	err = withOwnBus(ctx, false, 0, func(on ownBus) error {
		return withOwnStore(ctx, func(store storage.Store) error {
			return on.connect(ctx, jetstream.Options{}, func(bus events.Bus) error {
				job, err := s.job(ctx, store)
				if err == nil {
					err = bus.Enqueue(ctx, job)
				}
				if err != nil {
					return err
				}
				working, stop := context.WithCancel(ctx)
				running, working := errgroup.WithContext(working)
				for range s.workers {
					running.Go(func() error { return s.work(working, on, store) })
				}
				took, err = durationOfStudy(ctx, bus)
				stop()
				return errors.Join(err, running.Wait())
			})
		})
	})
	return took, err
}

// durationOfStudy waits for the outcome of the study and reads how long its trials took.
func durationOfStudy(ctx context.Context, bus events.Bus) (time.Duration, error) {
	waiting, cancel := context.WithTimeout(ctx, studyTimeout)
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
		s, err := studies.Read(ctx, bus, newest.Study)
		switch {
		case err != nil:
			return 0, err
		case len(s.Study.Trials) == 0:
			return 0, fmt.Errorf("study %s has no trials", newest.Study.ID)
		}
		last := slices.MaxFunc(s.Study.Trials, func(a, b *tune.Trial) int { return a.Ended.Compare(b.Ended) })
		return last.Ended.Sub(s.Study.Trials[0].Started), nil
	}
	return 0, errors.New("the study has no log")
}

// work returns one worker, with processes and a connection of its own.
func (s study) work(ctx context.Context, on ownBus, store storage.Store) error {
	builtins := map[string]string{noopName: "builtin:noop@1"}
	modules, err := runner.New(runner.Options{Args: []string{noopName}, Builtins: builtins, Warm: s.slots, Slots: s.slots})
	if err != nil {
		return err
	}
	defer modules.Close()
	return inTempDir(func(dir string) error {
		return on.connect(ctx, jetstream.Options{}, func(bus events.Bus) error {
			search := tuner.New(execution.New(store, modules, execution.Options{Root: storage.Ref{Bucket: ownBucket}, WorkDir: dir}), bus)
			return worker.New(bus, worker.Options{Functions: []worker.Function{search, search.Trials()}, Slots: s.slots}).Run(ctx)
		})
	})
}

// job returns the study's tune job. Its inputs are put into the store.
func (s study) job(ctx context.Context, store storage.Store) (events.Job, error) {
	for _, key := range []string{"rows/Split-train/data", "rows/Split-eval/data"} {
		if _, err := store.Put(ctx, storage.Ref{Bucket: ownBucket, Key: key}, strings.NewReader("rows"), 4); err != nil {
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
	job.Inputs = events.Inputs{TransformedExamples: []events.Examples{{URI: "s3://" + ownBucket + "/rows"}}}
	job.Spec, err = spec.JSON()
	return job, err
}
