// Package join turns events and a pipeline into jobs. It is pure: no clock, no network, no
// randomness. The same events give the same jobs, ids included, on any machine and in any replay.
//
// A run is a Join: its events so far, and a list of stages. A Stage is one job of the run: the
// search for hyperparameters (tune), if its pipeline tunes, then the training (train). Both go the
// same way:
//
//	Decide    finds from the run's events which stages are due, and whether the run has ended
//	Due, Pin  fix what the job of a due stage is made from
//	Job       makes the job
//	Dispatch  names the job in the join; it is about to be enqueued
//
// The state of a run follows from its events in the order of the log (Decide), not from the order
// in which dispatchers handle them. functions/dispatch keeps a Join for each run and an Admission
// for each pipeline in key-value buckets, and has the effects.
//
// Read Join first, then Stage, Decide and Admission.
package join

import (
	"cmp"
	"slices"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// State of a join.
type State string

// A join's state only advances: from waiting to complete to dispatched, or from waiting or complete
// to ended.
const (
	// Events are missing; the run may have a search for its hyperparameters.
	Waiting  State = "waiting"
	Complete State = "complete" // the training is pinned, and has no job yet
	// The training has its job, which is on the queue, was on it, or is about to be.
	Dispatched State = "dispatched"
	// There will be no training; the join stays, so that a late event starts nothing.
	Ended State = "ended"
)

// Join is what is known of one run of one pipeline: its events so far, and its stages. Once the
// training is pinned, only State, Ending and the progress of the stages change. Of these a job
// contains only Retry, so it is the same however often it is made.
type Join struct {
	Pipeline string  `json:"pipeline"`
	Run      string  `json:"run"`
	State    State   `json:"state"`
	Events   []Event `json:"events"`           // one of each kind, in the order of their sequence
	Stages   []Stage `json:"stages,omitempty"` // tune, if the run has a search, then train
	// When it was first written, by the clock of the dispatcher that wrote it.
	Began  time.Time `json:"began,omitzero"`
	Ending *Ending   `json:"ending,omitempty"`
}

// Ending says why a run has no training.
type Ending struct {
	Kind    events.FailureKind `json:"kind"` // incomplete, cancelled or input
	Message string             `json:"message"`
	At      time.Time          `json:"at"` // by the bus's clock
	// The run's events in the log up to this sequence led to it; later ones change nothing.
	Through uint64 `json:"through,omitempty"`
	// The event that announces it is in the log.
	Announced bool `json:"announced,omitempty"`
	// No job of the run is on the queue, and no dispatcher is about to enqueue one.
	Checked bool `json:"checked,omitempty"`
}

// Event is one event of the log as a join keeps it: the parts that the run's jobs need.
type Event struct {
	events.Cause
	Stored     time.Time     `json:"stored"`
	Trace      string        `json:"traceparent,omitempty"`
	TraceState string        `json:"tracestate,omitempty"`
	Inputs     events.Inputs `json:"inputs"` // what it named
	Force      bool          `json:"force,omitempty"`
	Why        string        `json:"why,omitempty"` // why the search failed, if it did
}

// EventOf returns the parts of a recorded event that a join keeps; false if no run uses events of
// its kind.
func EventOf(r events.Recorded) (Event, bool) {
	data, ok := r.Event.Data.(events.RunData)
	if !ok {
		return Event{}, false
	}
	return Event{
		Cause:      events.Cause{Kind: r.Event.Data.Kind(), Source: r.Event.Source, ID: r.Event.ID, Sequence: r.Message.Sequence},
		Stored:     r.Message.Stored,
		Trace:      r.Event.Trace,
		TraceState: r.Event.TraceState,
		Inputs:     data.Inputs(),
		Force:      events.RequestOf(r.Event.Data).Force,
		Why:        whyOf(r.Event.Data),
	}, true
}

// endsSearch reports whether events of a kind are outcomes of a search.
func endsSearch(kind events.Kind) bool {
	return kind == events.KindHParamsReady || kind == events.KindTuningFailed
}

// Counts reports whether runs of the pipeline use the event.
func (e Event) Counts(p pipeline.Pipeline) bool {
	switch e.Kind {
	case events.KindHParamsReady:
		return p.Trainer.Hyperparameters != pipeline.HyperparametersNone
	case events.KindTuningFailed:
		return p.AwaitsTuning()
	default: // every pipeline uses inputs
		return true
	}
}

// Starts reports whether the event alone starts a run. Hyperparameters that no run waits for do
// not: a run that completes finds them in the log, and a run that has only those needs nothing.
func (e Event) Starts(p pipeline.Pipeline) bool {
	if e.Kind == events.KindHParamsReady {
		return slices.Contains(p.Trainer.WaitFor, pipeline.WaitHParams)
	}
	return e.Counts(p)
}

// New returns the join of a run of which nothing is known yet.
func New(pipeline, run string) Join { return Join{Pipeline: pipeline, Run: run, State: Waiting} }

// Add returns the join with one more event. Of several events of one kind the one stored first
// counts. A join that is no longer waiting does not change.
func (j Join) Add(e Event) Join {
	if j.State != Waiting {
		return j
	}
	same := slices.IndexFunc(j.Events, func(have Event) bool { return have.Kind == e.Kind })
	switch {
	case same < 0:
		j.Events = append(slices.Clone(j.Events), e)
	case e.Sequence < j.Events[same].Sequence:
		j.Events = slices.Clone(j.Events)
		j.Events[same] = e
	}
	slices.SortFunc(j.Events, bySequence)
	return j
}

func bySequence(a, b Event) int { return cmp.Compare(a.Sequence, b.Sequence) }

// Has reports whether the event is one of the join's.
func (j Join) Has(e Event) bool {
	return slices.ContainsFunc(j.Events, func(have Event) bool { return have.Sequence == e.Sequence })
}

// Knows reports whether the event can't change the join, because the join has it, has an earlier
// one of its kind, or no longer waits.
func (j Join) Knows(e Event) bool {
	have, ok := j.Event(e.Kind)
	return j.State != Waiting || ok && have.Sequence <= e.Sequence
}

// Event returns the join's event of a kind; false if it has none.
func (j Join) Event(kind events.Kind) (Event, bool) {
	at := slices.IndexFunc(j.Events, func(e Event) bool { return e.Kind == kind })
	if at < 0 {
		return Event{}, false
	}
	return j.Events[at], true
}

// Completed returns the sequence of the newest event of the join: "latest" means before it.
func (j Join) Completed() uint64 { return j.Last().Sequence }

// Last returns the newest event of the join; the zero Event if it has none.
func (j Join) Last() Event {
	if len(j.Events) == 0 {
		return Event{}
	}
	return j.Events[len(j.Events)-1]
}

// Check returns what is wrong with a join that was read for a run, as an *events.Invalid; nil if it
// can be used. Any client with write access to the bucket may have written it.
func (j Join) Check(pipeline, run string) error {
	switch {
	case j.Pipeline != pipeline:
		return &events.Invalid{Field: "pipeline", Expected: pipeline, Got: j.Pipeline}
	case j.Run != run:
		return &events.Invalid{Field: "run", Expected: run, Got: j.Run}
	}
	for _, stage := range j.Stages {
		if err := j.checkStage(stage); err != nil {
			return err
		}
	}
	train := j.Stage(events.FunctionTrain)
	switch j.State {
	case Waiting:
		if train.Exists() {
			return &events.Invalid{Field: "state", Expected: "complete, dispatched or ended: the training is pinned", Got: string(j.State)}
		}
		return nil
	case Complete, Dispatched:
		return j.checkTraining(train)
	case Ended:
		return j.checkEnding()
	}
	return &events.Invalid{Field: "state", Expected: "waiting, complete, dispatched or ended", Got: string(j.State)}
}

// checkStage checks one stage. The training of a run that has ended doesn't matter.
func (j Join) checkStage(s Stage) error {
	field := string(s.Function)
	switch {
	case s.Function != events.FunctionTune && s.Function != events.FunctionTrain:
		return &events.Invalid{Field: "stages.function", Expected: "tune or train", Got: field}
	case j.State == Ended && s.Function == events.FunctionTrain:
		return nil
	case s.Revision == 0:
		return &events.Invalid{Field: field + ".revision", Expected: "the revision of the pipeline of the job"}
	case j.State != Ended && len(j.At(s).Events) == 0:
		return &events.Invalid{Field: field + ".through", Expected: "the sequence of an event of the run"}
	case s.Job != "":
		return events.CheckJobID(field+".job", s.Job)
	}
	return nil
}

// checkTraining checks that the training has a job if, and only if, the run is dispatched.
func (j Join) checkTraining(train Stage) error {
	switch {
	case !train.Exists():
		return &events.Invalid{Field: "stages", Expected: "a stage with the function train"}
	case j.State == Dispatched:
		return events.CheckJobID("train.job", train.Job)
	case train.Job != "":
		return &events.Invalid{Field: "train.job", Expected: "no job: the run is not dispatched", Got: train.Job}
	}
	return nil
}

func (j Join) checkEnding() error {
	if j.Ending == nil {
		return &events.Invalid{Field: "ending", Expected: "the reason why the run has ended"}
	}
	if !slices.Contains(events.FailureKinds(), j.Ending.Kind) {
		return &events.Invalid{Field: "ending.kind", Expected: "a kind of failure", Got: string(j.Ending.Kind)}
	}
	return nil
}
