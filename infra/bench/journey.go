package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/local/demo"
)

// Phases that the trainer reports. All others are its module's.
const (
	staging    = "staging"  // a worker has the job and knows its inputs
	starting   = "starting" // the inputs are staged, the module is about to be started
	checking   = "checking"
	publishing = "publishing"
)

// journey is when what became of one run was heard of, since its last event was about to be
// published.
type journey struct {
	phase   map[string]time.Duration // first word of each
	module  time.Duration            // first word of the module
	trained time.Duration            // ModelTrained

	cpu      float64 // seconds that the stack spent from event to event, in steps of 10 ms
	accuracy float64 // of the model, on the eval split
}

// patience bounds one round, which takes less than a second as a rule.
const patience = time.Minute

// errThere ends the listening of a journey.
var errThere = errors.New("the model is there")

// travel publishes the events of one run and listens until its model is there.
func (w walker) travel(ctx context.Context, run string) (journey, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	evs := demo.Events(w.artifacts, run)
	last := len(evs) - 1
	for _, event := range evs[:last] {
		if _, err := w.bus.Publish(ctx, event); err != nil {
			return journey{}, err
		}
	}
	before, err := cpuTime(w.pid)
	if err != nil {
		return journey{}, err
	}
	j, err := w.listen(ctx, evs[last])
	if err != nil {
		return j, err
	}
	after, err := cpuTime(w.pid)
	j.cpu = after - before
	return j, err
}

// listen watches before the event is published, so that nothing is missed.
func (w walker) listen(ctx context.Context, event events.Event) (journey, error) {
	j := journey{phase: map[string]time.Duration{}}
	group, ctx := errgroup.WithContext(ctx)
	progress := w.bus.Watch(ctx, event.Pipeline, event.Run)
	began := time.Now()
	group.Go(func() error {
		for p, err := range progress {
			if err != nil && ctx.Err() == nil {
				return err
			}
			j.heard(p.Phase, time.Since(began))
		}
		return nil
	})
	group.Go(func() error {
		if _, err := w.bus.Publish(ctx, event); err != nil {
			return err
		}
		model, err := w.await(ctx, event)
		if err != nil {
			return err
		}
		j.trained, j.accuracy = time.Since(began), model.Metrics["accuracy"]
		return errThere
	})
	if err := group.Wait(); !errors.Is(err, errThere) {
		return j, err
	}
	if j.module == 0 {
		return j, fmt.Errorf("run %s: no word of its module", event.Run)
	}
	return j, nil
}

// heard notes the first time of a phase.
func (j *journey) heard(phase string, at time.Duration) {
	if _, before := j.phase[phase]; before {
		return
	}
	j.phase[phase] = at
	ofTrainer := phase == staging || phase == starting || phase == checking || phase == publishing
	if !ofTrainer && j.module == 0 {
		j.module = at
	}
}

// await returns when the run's model is there.
func (w walker) await(ctx context.Context, event events.Event) (*events.ModelTrained, error) {
	query := events.Query{
		Kinds:    events.OutcomeKinds(),
		Pipeline: event.Pipeline, Run: event.Run, Follow: true,
	}
	for recorded, err := range w.bus.Read(ctx, query) {
		if err != nil {
			return nil, err
		}
		switch data := recorded.Event.Data.(type) {
		case *events.TrainingFailed:
			return nil, fmt.Errorf("run %s failed: %s", event.Run, data.Message)
		case *events.ModelTrained:
			if data.Cached {
				return nil, fmt.Errorf("run %s: nothing was trained, the model was there before", event.Run)
			}
			return data, nil
		}
	}
	return nil, context.Cause(ctx)
}
