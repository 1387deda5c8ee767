package plan

import (
	"slices"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// State of a join.
type State string

// A join only ever goes forward: waiting, complete, dispatched.
const (
	Waiting    State = "waiting"    // facts are missing
	Complete   State = "complete"   // inputs are pinned; the job may or may not be on the queue
	Dispatched State = "dispatched" // the job is on the queue, or was
)

// Join is what is known of one run of one pipeline: the facts that came, and, once it is complete, everything that its job is
// made from. From then on it never changes but in State, so that its job is the same however often it is made.
type Join struct {
	Pipeline string   `json:"pipeline"`
	Run      string   `json:"run"`
	State    State    `json:"state"`
	Facts    []Pinned `json:"facts"` // one for each kind, in the order of their sequence
	Revision uint64   `json:"revision,omitempty"`
	Latest   Latest   `json:"latest,omitzero"`
	Job      string   `json:"job,omitempty"` // id
}

// Pinned is one fact as a join keeps it: what the plan needs of it.
type Pinned struct {
	events.Cause
	Stored time.Time     `json:"stored"`
	Trace  string        `json:"traceparent,omitempty"`
	Inputs events.Inputs `json:"inputs"` // what it named
}

// Latest holds what "latest" meant when the join completed.
type Latest struct {
	Hyperparameters string `json:"hyperparameters,omitempty"`
	BaseModel       string `json:"base_model,omitempty"`
}

// Pin keeps of a recorded fact what a join needs; false if it is not a kind that runs wait for.
func Pin(r events.Recorded) (Pinned, bool) {
	inputs, ok := inputsOf(r.Fact.Data)
	if !ok {
		return Pinned{}, false
	}
	return Pinned{
		Cause:  events.Cause{Kind: r.Fact.Data.Kind(), Source: r.Fact.Source, ID: r.Fact.ID, Sequence: r.Message.Sequence},
		Stored: r.Message.Stored,
		Trace:  r.Fact.Trace,
		Inputs: inputs,
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
		}, true
	case *events.HParamsReady:
		return events.Inputs{Hyperparameters: d.Hyperparameters}, true
	default:
		return events.Inputs{}, false
	}
}

// Add returns the join with one more fact. Of several facts of one kind the one stored first counts, so that order of
// arrival does not matter; a join that is no longer waiting stays as it is.
func (j Join) Add(p Pinned) Join {
	if j.State != Waiting {
		return j
	}
	same := slices.IndexFunc(j.Facts, func(f Pinned) bool { return f.Kind == p.Kind })
	switch {
	case same < 0:
		j.Facts = append(slices.Clone(j.Facts), p)
	case p.Sequence < j.Facts[same].Sequence:
		j.Facts = slices.Clone(j.Facts)
		j.Facts[same] = p
	}
	slices.SortFunc(j.Facts, func(a, b Pinned) int { return int(int64(a.Sequence) - int64(b.Sequence)) })
	return j
}

// Has says whether the fact is one of those that the join is made of.
func (j Join) Has(p Pinned) bool {
	return slices.ContainsFunc(j.Facts, func(f Pinned) bool { return f.Sequence == p.Sequence })
}

// Missing lists the kinds that the pipeline waits for and the join does not have.
func (j Join) Missing(p pipeline.Pipeline) []events.Kind {
	var missing []events.Kind
	for _, kind := range waitFor(p) {
		if !slices.ContainsFunc(j.Facts, func(f Pinned) bool { return f.Kind == kind }) {
			missing = append(missing, kind)
		}
	}
	return missing
}

// Completed is the sequence of the newest fact in the join: what "latest" is measured against.
func (j Join) Completed() uint64 {
	if len(j.Facts) == 0 {
		return 0
	}
	return j.Facts[len(j.Facts)-1].Sequence
}
