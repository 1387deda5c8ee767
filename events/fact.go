package events

import "time"

// Fact is a CloudEvent that says what has happened, parsed once at the door. A Fact that came out of this package's
// decoders is valid; one that a program fills in is checked by Validate before it is published. Facts are never changed.
type Fact struct {
	ID       string    // unique with Source; equal ones are the same fact told twice
	Source   string    // URI reference of who tells it
	Pipeline string    // CloudEvents subject
	Run      string    // extension "run": the key on which facts are joined
	Time     time.Time // when it happened, as the source says; zero if it does not

	Causation string // extension "causationid": the fact that led here, "" for upstream's own
	Trace     string // extension "traceparent" (W3C), "" if none

	Data Data
}

// Data is what a fact tells: *ExamplesReady, *TransformReady, *HParamsReady, *ModelTrained, *TrainingFailed or
// *TuningFailed.
type Data interface {
	// Kind is constant for the type.
	Kind() Kind
	// Validate returns nil or an *Invalid naming the first bad field by its JSON path below data.
	Validate() error
}
