package plan

import (
	"cmp"
	"slices"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// State of a join.
type State string

// A join only ever goes forward: waiting, complete, dispatched; or waiting or complete, ended.
const (
	Waiting    State = "waiting"    // facts are missing
	Complete   State = "complete"   // inputs are pinned; the job may or may not be on the queue
	Dispatched State = "dispatched" // the run has its job, which is on the queue, was, or is about to be
	Ended      State = "ended"      // there will be no job; stays, so that a late fact starts nothing
)

// Join is what is known of one run of one pipeline: the facts that came, and, once it is complete, everything that its job is
// made from. From then on only what stands below Tuning changes, and State. Nothing of that goes into its job but Again: the job is the
// same however often it is made.
type Join struct {
	Pipeline string    `json:"pipeline"`
	Run      string    `json:"run"`
	State    State     `json:"state"`
	Facts    []Pinned  `json:"facts"` // one for each kind, in the order of their sequence
	Revision uint64    `json:"revision,omitempty"`
	Latest   Latest    `json:"latest,omitzero"`
	Tuning   *Tuning   `json:"tuning,omitempty"` // nil: the run is not tuned, or not yet
	Began    time.Time `json:"began,omitzero"`   // when it was first written, by the clock of the dispatcher that did
	Job      string    `json:"job,omitempty"`    // id of the last job that was decided on

	// Unconfirmed says that Job may not be on the queue yet: the join is marked first and the job is enqueued then, so that a run
	// that has ended never has a job.
	Unconfirmed bool `json:"unconfirmed,omitempty"`

	Again   Again   `json:"again,omitzero"`    // how that job was asked for
	After   uint64  `json:"after,omitempty"`   // outcomes up to this sequence are those of earlier jobs
	Outcome uint64  `json:"outcome,omitempty"` // sequence of the fact that tells what came of Job, once someone has noted it
	Ending  *Ending `json:"ending,omitempty"`
}

// Ending says why a run has no job.
type Ending struct {
	Kind    events.FailureKind `json:"kind"` // incomplete, cancelled or input
	Message string             `json:"message"`
	At      time.Time          `json:"at"`                // by the bus's clock
	Through uint64             `json:"through,omitempty"` // the run's facts in the log up to this sequence led to it; later ones change nothing
	Told    bool               `json:"told,omitempty"`    // the fact that says so is in the log
	Checked bool               `json:"checked,omitempty"` // no job of the run is on the queue, and nobody is about to enqueue one
}

// Pinned is one fact as a join keeps it: what the plan needs of it.
type Pinned struct {
	events.Cause
	Stored     time.Time     `json:"stored"`
	Trace      string        `json:"traceparent,omitempty"`
	TraceState string        `json:"tracestate,omitempty"`
	Inputs     events.Inputs `json:"inputs"` // what it named
	Force      bool          `json:"force,omitempty"`
	Why        string        `json:"why,omitempty"` // of a tuning that failed
}

// Latest holds what "latest" meant when the join completed.
type Latest struct {
	Hyperparameters string            `json:"hyperparameters,omitempty"`
	BaseModel       string            `json:"base_model,omitempty"`
	Spans           []events.Examples `json:"spans,omitempty"` // the pipeline's window, in the order of their spans
}

// Pin keeps of a recorded fact what a join needs; false if it is not a kind that can mean something to a run.
func Pin(r events.Recorded) (Pinned, bool) {
	inputs, ok := inputsOf(r.Fact.Data)
	if !ok {
		return Pinned{}, false
	}
	return Pinned{
		Cause:      events.Cause{Kind: r.Fact.Data.Kind(), Source: r.Fact.Source, ID: r.Fact.ID, Sequence: r.Message.Sequence},
		Stored:     r.Message.Stored,
		Trace:      r.Fact.Trace,
		TraceState: r.Fact.TraceState,
		Inputs:     inputs,
		Force:      events.RequestOf(r.Fact.Data).Force,
		Why:        whyOf(r.Fact.Data),
	}, true
}

// inputsOf names the artifacts that a fact makes known.
func inputsOf(data events.Data) (events.Inputs, bool) {
	switch d := data.(type) {
	case *events.ExamplesReady:
		return events.Inputs{Examples: d.Examples, Schema: d.Schema, Statistics: d.Statistics}, true
	case *events.TransformReady:
		return events.Inputs{
			TransformGraph: d.TransformGraph, TransformedExamples: d.TransformedExamples, Examples: d.Examples, Schema: d.Schema,
			Statistics: d.Statistics,
		}, true
	case *events.HParamsReady:
		return events.Inputs{Hyperparameters: d.Hyperparameters}, true
	case *events.TuningFailed:
		return events.Inputs{}, true
	default:
		return events.Inputs{}, false
	}
}

// Counts says whether the pipeline's policies leave the fact a meaning.
func (f Pinned) Counts(p pipeline.Pipeline) bool {
	switch f.Kind {
	case events.KindHParamsReady:
		return p.Trainer.Hyperparameters != pipeline.HyperparametersNone
	case events.KindTuningFailed:
		return p.AwaitsTuning()
	}
	return true
}

// Starts says whether the fact alone makes a run that is waited for. Hyperparameters that nobody waits for don't: they are found
// in the log when a run completes, and a run that has only those is not one that lacks something.
func (f Pinned) Starts(p pipeline.Pipeline) bool {
	if f.Kind == events.KindHParamsReady {
		return slices.Contains(p.Trainer.WaitFor, pipeline.WaitHParams)
	}
	return f.Counts(p)
}

// New is the join of a run of which nothing is known yet.
func New(pipeline, run string) Join { return Join{Pipeline: pipeline, Run: run, State: Waiting} }

// Add returns the join with one more fact. Of several facts of one kind the one stored first counts; a join that is no longer
// waiting stays as it is.
func (j Join) Add(f Pinned) Join {
	if j.State != Waiting {
		return j
	}
	same := slices.IndexFunc(j.Facts, func(have Pinned) bool { return have.Kind == f.Kind })
	switch {
	case same < 0:
		j.Facts = append(slices.Clone(j.Facts), f)
	case f.Sequence < j.Facts[same].Sequence:
		j.Facts = slices.Clone(j.Facts)
		j.Facts[same] = f
	}
	slices.SortFunc(j.Facts, bySequence)
	return j
}

func bySequence(a, b Pinned) int { return cmp.Compare(a.Sequence, b.Sequence) }

// Has says whether the fact is one of those that the join is made of.
func (j Join) Has(f Pinned) bool {
	return slices.ContainsFunc(j.Facts, func(have Pinned) bool { return have.Sequence == f.Sequence })
}

// Knows says whether the fact is of no more interest to the join: it has it, or an earlier one of
// its kind, or waits for none.
func (j Join) Knows(f Pinned) bool {
	have, of := j.Fact(f.Kind)
	return j.State != Waiting || of && have.Sequence <= f.Sequence
}

// Fact is the join's fact of a kind; false if it has none.
func (j Join) Fact(kind events.Kind) (Pinned, bool) {
	at := slices.IndexFunc(j.Facts, func(f Pinned) bool { return f.Kind == kind })
	if at < 0 {
		return Pinned{}, false
	}
	return j.Facts[at], true
}

// Completed is the sequence of the newest fact in the join: what "latest" is measured against.
func (j Join) Completed() uint64 {
	if len(j.Facts) == 0 {
		return 0
	}
	return j.Facts[len(j.Facts)-1].Sequence
}

// Last is the newest fact in the join.
func (j Join) Last() Pinned {
	if len(j.Facts) == 0 {
		return Pinned{}
	}
	return j.Facts[len(j.Facts)-1]
}
