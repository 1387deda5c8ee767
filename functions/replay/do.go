package replay

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
)

// Progress is one thing that Do did, or that came of it.
type Progress struct {
	Step Step
	Did  string       // joined, offered, trained, failed or skipped
	Job  string       // id, once there is one
	Fact *events.Fact // the outcome, once there is one
	Err  error        // why a step failed or was skipped
}

// What Do did, or what came of it.
const (
	DidJoin  = "joined"
	DidOffer = "offered"
	Trained  = "trained"
	Failed   = "failed"
	Skipped  = "skipped"
)

// Do takes the steps of a plan. It offers a job once the outcomes are there that its step comes after, and returns when the last one
// is offered; with wait, when the last outcome is there. What can't be done is told to on, and does not hold up the rest. Doing
// the same plan again, or another one after a crash, does nothing twice.
func (r *Replay) Do(ctx context.Context, p Plan, wait bool, on func(Progress)) error {
	w := work{Replay: r, on: on, open: map[Run]Step{}, over: map[Run]bool{}}
	for _, step := range p.Steps {
		if step.Action == Leave {
			continue
		}
		w.waiting = append(w.waiting, step)
		w.open[step.Run] = step
	}
	if err := w.start(ctx); err != nil || w.rests(wait) {
		return err
	}
	query := events.Query{Kinds: []events.Kind{events.KindModelTrained, events.KindTrainingFailed}, From: p.tail + 1, Follow: true}
	for recorded, err := range r.box.Read(ctx, query) {
		if err != nil {
			return fmt.Errorf("follow the log: %w", err)
		}
		if recorded.Err != nil || !w.hear(recorded.Fact) {
			continue
		}
		if err := w.start(ctx); err != nil || w.rests(wait) {
			return err
		}
	}
	return context.Cause(ctx)
}

// work is a plan on its way.
type work struct {
	*Replay
	on      func(Progress)
	waiting []Step       // not begun
	open    map[Run]Step // no outcome yet
	over    map[Run]bool // done with: true if there is a model
}

// rests says whether there is nothing left to do.
func (w *work) rests(wait bool) bool { return len(w.waiting) == 0 && (!wait || len(w.open) == 0) }

// start begins every step that need not wait any more, in order, until no other one gets free by that.
func (w *work) start(ctx context.Context) error {
	for again := true; again; {
		again = false
		var left []Step
		for _, step := range w.waiting {
			if !w.ready(step) {
				left = append(left, step)
				continue
			}
			if err := w.begin(ctx, step); err != nil {
				return err
			}
			again = true
		}
		w.waiting = left
	}
	return nil
}

func (w *work) ready(step Step) bool {
	for _, run := range step.After {
		if _, open := w.open[run]; open {
			return false
		}
	}
	return true
}

// begin takes one step. An error is that of ctx; what else goes wrong is the step's own.
func (w *work) begin(ctx context.Context, step Step) error {
	if step.base != nil && !w.over[*step.base] {
		w.end(step, Progress{Did: Skipped, Err: fmt.Errorf("it starts from the model of run %s, which was not made again", step.base.Run)}, false)
		return nil
	}
	done, err := w.take(ctx, step)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		w.end(step, Progress{Did: Skipped, Err: err}, false)
	case done.Job == "":
		w.end(step, done, false) // it waits for more facts, or at a gate: nothing comes of it here
	default:
		done.Step = step
		w.on(done)
	}
	return nil
}

func (w *work) end(step Step, p Progress, model bool) {
	delete(w.open, step.Run)
	w.over[step.Run] = model
	p.Step = step
	w.on(p)
}

// hear takes note of an outcome; false if nobody waits for it.
func (w *work) hear(fact events.Fact) bool {
	step, open := w.open[Run{fact.Pipeline, fact.Run}]
	if !open || !step.answered(fact) {
		return false
	}
	p := Progress{Did: Trained, Fact: &fact}
	failed, bad := fact.Data.(*events.TrainingFailed)
	if bad {
		p.Did, p.Err = Failed, errors.New(failed.Message)
	}
	w.end(step, p, !bad)
	return true
}

// answered says whether a fact of the step's run tells what came of the step, and not of something else that was under way.
func (s Step) answered(fact events.Fact) bool {
	data, trained := fact.Data.(*events.ModelTrained)
	switch {
	case !trained:
		return isOutcome(fact)
	case s.Action == Train:
		return modelAt(data.Model.URI) == s.makes && data.Generation >= s.again.Generation
	}
	return true
}
