package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/storage"
)

// Progress is one thing that Do did, or that came of it.
type Progress struct {
	Number int // of the step, in Plan.Steps
	Step   Step
	Did    Did
	Job    string       // id, once there is one
	Fact   *events.Fact // the outcome, once there is one
	Err    error        // why a step failed or was skipped
}

// Did is what Do did for a step, or what came of it.
type Did string

// The things done, and what may come of them.
const (
	Joined  Did = "joined"
	Offered Did = "offered"
	Trained Did = "trained"
	Tuned   Did = "tuned"
	Failed  Did = "failed"
	Skipped Did = "skipped"
)

// Do takes the steps of a plan. It offers a job once the outcomes are there that its step comes after, and returns when the last one
// is offered; with wait, when the last outcome is there. What can't be done is told to on, and does not hold up the rest. Doing
// the same plan again, or another one after a crash, does nothing twice.
func (r *Replay) Do(ctx context.Context, p Plan, wait bool, on func(Progress)) error {
	w := newWork(r, p, on)
	if err := w.start(ctx); err != nil || w.rests(wait) {
		return err
	}
	if !slices.Contains(w.at, begun) {
		return errors.New("the steps wait for one another")
	}
	query := events.Query{Kinds: kinds(), From: p.tail + 1, Follow: true}
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
	on    func(Progress)
	steps []Step
	at    []stage // of each step
}

// stage is how far a step is.
type stage int

const (
	waits  stage = iota // for others, or for its turn
	begun               // its outcome is to come
	made                // there is a model
	closed              // there is none, or no step was needed
)

func newWork(r *Replay, p Plan, on func(Progress)) *work {
	w := &work{Replay: r, on: on, steps: p.Steps, at: make([]stage, len(p.Steps))}
	for i, step := range p.Steps {
		if step.idle() {
			w.at[i] = closed
		}
	}
	return w
}

// rests says whether there is nothing left to do.
func (w *work) rests(wait bool) bool {
	return !slices.Contains(w.at, waits) && !(wait && slices.Contains(w.at, begun))
}

// start begins every step that need not wait any more, in order, until no other one gets free by that.
func (w *work) start(ctx context.Context) error {
	for again := true; again; {
		again = false
		for i, step := range w.steps {
			if w.at[i] != waits || !w.ready(step) {
				continue
			}
			if err := w.begin(ctx, i); err != nil {
				return err
			}
			again = true
		}
	}
	return nil
}

func (w *work) ready(step Step) bool {
	return !slices.ContainsFunc(step.after, func(on int) bool { return w.at[on] < made })
}

// begin takes step number i. An error is that of ctx; what else goes wrong is the step's own.
func (w *work) begin(ctx context.Context, i int) error {
	step := w.steps[i]
	for _, need := range step.needs {
		if w.at[need] != made {
			w.move(i, closed, Progress{Did: Skipped, Err: w.steps[need].lacking()})
			return nil
		}
	}
	done, err := w.take(ctx, step)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		w.move(i, closed, Progress{Did: Skipped, Err: err})
	case done.Job == "":
		w.move(i, closed, done) // it waits for more facts, or at a gate: nothing comes of it here
	default:
		w.move(i, begun, done)
	}
	return nil
}

func (w *work) move(i int, to stage, p Progress) {
	w.at[i], p.Number, p.Step = to, i, w.steps[i]
	w.on(p)
}

// hear takes note of an outcome; false if no step waits for it.
func (w *work) hear(fact events.Fact) bool {
	for i, step := range w.steps {
		if w.at[i] != begun || !step.answered(fact) {
			continue
		}
		did, err := outcome(fact)
		w.move(i, map[bool]stage{true: made, false: closed}[err == nil], Progress{Did: did, Fact: &fact, Err: err})
		return true
	}
	return false
}

// outcome is what a fact says has come of a step.
func outcome(fact events.Fact) (Did, error) {
	switch data := fact.Data.(type) {
	case *events.TrainingFailed:
		return Failed, errors.New(data.Message)
	case *events.TuningFailed:
		return Failed, errors.New(data.Message)
	case *events.HParamsReady:
		return Tuned, nil
	}
	return Trained, nil
}

// kinds are those of the facts that tell what came of a step.
func kinds() []events.Kind {
	return append(events.OutcomeKinds(), events.KindHParamsReady, events.KindTuningFailed)
}

// lacking is why a step is skipped that needs what this one was to make.
func (s Step) lacking() error {
	if s.Action == Tune {
		return fmt.Errorf("it trains with the hyperparameters of run %s, which were not found again", s.Run.Run)
	}
	return fmt.Errorf("it starts from the model of run %s, which was not made again", s.Run.Run)
}

// answered says whether a fact tells what came of the step, and not of something else that was under way.
func (s Step) answered(fact events.Fact) bool {
	data, trained := fact.Data.(*events.ModelTrained)
	switch {
	case s.Run != Run{fact.Pipeline, fact.Run}:
		return false
	case s.Action == Tune:
		return s.searched(fact.Data)
	case !trained:
		return events.EndsRun(fact)
	case s.Action == Train:
		made, _ := storage.ExecutionAt(data.Model.URI)
		return made == s.makes && data.Generation >= s.again.Generation
	}
	return true
}
