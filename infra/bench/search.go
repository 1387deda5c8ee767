package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/local/demo"
)

// What TFX's own Tuner component took for the same search. It was recorded once, on a busy machine,
// and is not run again.
const (
	tfxTuner     = "TFX 1.16 Tuner component, once imported; recorded, not run again"
	tfxTunerTime = 86.6e3 // ms
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

// searching measures how long a search takes in a running `stoker up`, from the fact that begins it
// to HParamsReady.
func (b bench) searching(ctx context.Context) (figures []figure, err error) {
	dir, err := os.MkdirTemp("", "stoker-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	err = b.withUp(ctx, dir, func(ctx context.Context, stack up) (err error) {
		w, err := newWalker(ctx, stack.pid, stack.connection)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, w.bus.Close()) }()
		figures, err = w.searches(ctx, b.times(20))
		return err
	})
	return figures, err
}

// searches makes that many, each of which nobody has made before: their seeds differ. The first one
// warms up.
func (w walker) searches(ctx context.Context, n int) ([]figure, error) {
	spec, err := pipeline.Parse("search.yaml", []byte(penguinSearch))
	if err != nil {
		return nil, err
	}
	var took, cpu, score samples
	for round := range n + 1 {
		spec.Trainer.Seed = int64(round) + 1
		if _, _, err := dispatch.Apply(ctx, w.bus, spec); err != nil {
			return nil, err
		}
		s, err := w.search(ctx, fmt.Sprintf("search-%d", round))
		if err != nil {
			return nil, err
		}
		if round > 0 {
			took.addTime(s.took)
			cpu, score = append(cpu, s.cpu), append(score, s.score)
		}
	}
	return []figure{
		alone("event-to-hparams-p50", milliseconds, took.quantile(0.5), took, "< 1000").against(tfxTuner, tfxTunerTime),
		alone("of-it-stack-cpu-mean", cpuSeconds, cpu.mean(), cpu, ""),
		alone("search-best-accuracy-mean", fraction, score.mean(), score, ""),
	}, nil
}

// found is one search.
type found struct {
	took  time.Duration
	cpu   float64 // seconds that the stack spent on it, but for the module's process, which lives on
	score float64
}

// search publishes the fact that begins a search, and waits for what it found, and then for the
// training that follows, so that the next one has the machine to itself.
func (w walker) search(ctx context.Context, run string) (f found, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	evs := demo.Events(w.artifacts, run)
	event := evs[len(evs)-1]
	event.Pipeline = "penguin-search"
	before, err := cpuTime(w.pid)
	if err != nil {
		return f, err
	}
	began := time.Now()
	if _, err := w.bus.Publish(ctx, event); err != nil {
		return f, err
	}
	hparams, err := w.awaitTuning(ctx, event)
	if err != nil {
		return f, err
	}
	f.took, f.score = time.Since(began), *hparams.Score
	after, err := cpuTime(w.pid)
	if err == nil {
		f.cpu = after - before
		_, err = w.await(ctx, event)
	}
	return f, err
}

// awaitTuning returns when the run's hyperparameters are there.
func (w walker) awaitTuning(ctx context.Context, event events.Event) (*events.HParamsReady, error) {
	query := events.Query{
		Kinds:    []events.Kind{events.KindHParamsReady, events.KindTuningFailed},
		Pipeline: event.Pipeline, Run: event.Run, Follow: true,
	}
	for recorded, err := range w.bus.Read(ctx, query) {
		if err != nil {
			return nil, err
		}
		switch data := recorded.Event.Data.(type) {
		case *events.TuningFailed:
			return nil, fmt.Errorf("run %s: its search failed: %s", event.Run, data.Message)
		case *events.HParamsReady:
			if data.Cached || data.Reused || data.Score == nil {
				return nil, fmt.Errorf("run %s: nothing was searched: %+v", event.Run, *data)
			}
			return data, nil
		}
	}
	return nil, context.Cause(ctx)
}
