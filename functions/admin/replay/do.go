package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/storage"
)

// Progress is an action of Do, or its outcome.
type Progress struct {
	Number int // number of the step in Plan.Steps
	Step   Step
	Did    Did
	Job    string        // its id, once there is one
	Event  *events.Event // the outcome, once there is one
	Err    error         // why a step failed or was skipped
}

// Did is what Do did for a step, or its outcome.
type Did string

// The values of Did.
const (
	Joined  Did = "joined"
	Offered Did = "offered"
	Trained Did = "trained"
	Tuned   Did = "tuned"
	Failed  Did = "failed"
	Skipped Did = "skipped"
)

// Do executes the steps of a plan. It enqueues a job once the outcomes exist that its step waits
// for, and returns when the last one is enqueued; with wait, when the last outcome exists. It
// passes the failure of a step to on and continues with the other steps. Executing the same plan
// again, or another one after a crash, does nothing twice.
func (r *Replay) Do(ctx context.Context, p Plan, wait bool, on func(Progress)) error {
	w := newWork(r, p, on)
	if err := w.start(ctx); err != nil || w.rests(wait) {
		return err
	}
	if !slices.Contains(w.at, begun) {
		return errors.New("the steps wait for each other")
	}
	query := events.Query{Kinds: kinds(), From: p.tail + 1, Follow: true}
	for recorded, err := range r.bus.Read(ctx, query) {
		if err != nil {
			return fmt.Errorf("follow the log: %w", err)
		}
		if recorded.Err != nil || !w.hear(recorded.Event) {
			continue
		}
		if err := w.start(ctx); err != nil || w.rests(wait) {
			return err
		}
	}
	return context.Cause(ctx)
}

// work is a plan in progress.
type work struct {
	*Replay
	on    func(Progress)
	steps []Step
	at    []stage // of each step
}

// stage is the progress of a step.
type stage int

const (
	waits  stage = iota // it waits for others, or for its turn
	begun               // has no outcome yet
	made                // it has a model
	closed              // it has none, or needed no step
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

// rests reports whether nothing is left to do.
func (w *work) rests(wait bool) bool {
	return !slices.Contains(w.at, waits) && !(wait && slices.Contains(w.at, begun))
}

// start begins every step that waits for no other, in order, until no further step becomes free.
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

// begin begins step number i. It returns the error of ctx; other errors are the step's own.
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
		// The run waits for more events, or for admission: no outcome is expected.
		w.move(i, closed, done)
	default:
		w.move(i, begun, done)
	}
	return nil
}

func (w *work) move(i int, to stage, p Progress) {
	w.at[i], p.Number, p.Step = to, i, w.steps[i]
	w.on(p)
}

// hear records an outcome; false if no step waits for it.
func (w *work) hear(event events.Event) bool {
	for i, step := range w.steps {
		if w.at[i] != begun || !step.answered(event) {
			continue
		}
		did, err := outcome(event)
		w.move(i, map[bool]stage{true: made, false: closed}[err == nil], Progress{Did: did, Event: &event, Err: err})
		return true
	}
	return false
}

// outcome returns the result of a step that an event announces.
func outcome(event events.Event) (Did, error) {
	if failed := events.FailedOf(event.Data); failed != nil {
		return Failed, errors.New(failed.Message)
	}
	if event.Data.Kind() == events.KindHParamsReady {
		return Tuned, nil
	}
	return Trained, nil
}

// kinds returns the kinds of events with the outcome of a step.
func kinds() []events.Kind {
	return append(events.OutcomeKinds(), events.KindHParamsReady, events.KindTuningFailed)
}

// lacking returns why a step is skipped that needs the result of this one.
func (s Step) lacking() error {
	if s.Action == Tune {
		return fmt.Errorf("it trains with the hyperparameters of run %s, whose search was not repeated", s.Run.Run)
	}
	return fmt.Errorf("it starts from the model of run %s, which was not trained again", s.Run.Run)
}

// answered reports whether an event has the outcome of the step, and not of another job.
func (s Step) answered(event events.Event) bool {
	data, trained := event.Data.(*events.ModelTrained)
	switch {
	case s.Run != Run{Pipeline: event.Pipeline, Run: event.Run}:
		return false
	case s.Action == Tune:
		return s.searched(event.Data)
	case !trained:
		return events.EndsRun(event)
	case s.Action == Train:
		made, _ := storage.ExecutionAt(data.Model.URI)
		return made == s.makes && data.Generation >= s.again.Generation
	}
	return true
}

// take has the effects of one step.
func (r *Replay) take(ctx context.Context, step Step) (Progress, error) {
	if step.Action == Join {
		return r.rejoin(ctx, step)
	}
	if step.rejoin {
		if err := r.dispatcher.Rebuild(ctx, step.Pipeline, step.Run.Run); err != nil {
			return Progress{}, err
		}
	}
	if step.Action == Tune {
		job, err := r.dispatcher.Retry(ctx, step.Pipeline, step.Run.Run, events.FunctionTune, step.again)
		return Progress{Did: Offered, Job: job.ID}, err
	}
	job, err := r.dispatcher.Retry(ctx, step.Pipeline, step.Run.Run, events.FunctionTrain, step.again)
	return Progress{Did: Offered, Job: job.ID}, err
}

// rejoin handles the events of a run again, which may give the run its job.
func (r *Replay) rejoin(ctx context.Context, step Step) (Progress, error) {
	if err := redo(ctx, r.bus, r.dispatcher, step.events); err != nil {
		return Progress{}, err
	}
	j, err := runs.Open(r.bus, runs.Options{}).Join(ctx, step.Run)
	if errors.Is(err, events.ErrNotFound) {
		return Progress{Did: Joined}, nil // the events alone imply no join
	}
	if err != nil || j.State != join.Dispatched {
		return Progress{Did: Joined}, err
	}
	return Progress{Did: Offered, Job: j.Current().Job}, nil
}

// redo handles events again, in order. An event that is refused was refused before, and is a dead
// letter; if all are refused, redo returns that error.
func redo(ctx context.Context, bus events.EventLog, d Handler, evs []uint64) error {
	var refused error
	taken := 0
	for _, sequence := range evs {
		recorded, err := readEventOrData(ctx, bus, sequence)
		if err != nil {
			return err
		}
		err = d.Handle(ctx, recorded)
		if _, again := events.AsKind(err, events.FailureInput); again {
			refused = fmt.Errorf("event %d is refused: %w", sequence, err)
			continue
		}
		if err != nil {
			return fmt.Errorf("handle event %d again: %w", sequence, err)
		}
		taken++
	}
	if taken == 0 {
		return refused
	}
	return nil
}
