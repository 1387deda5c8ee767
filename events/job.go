package events

import (
	"encoding/json"
	"time"
)

// Function says which of Stoker's functions a job is for.
type Function string

// The functions.
const (
	FunctionTrain Function = "train"
	FunctionTune  Function = "tune"
	FunctionTrial Function = "trial"
)

// Job is one unit of work on the work queue. It is self-contained: a worker that holds it needs the store and nothing else.
type Job struct {
	ID       string   `json:"id"` // digest of (pipeline, revision, run, function, pinned facts): pure, made by functions/plan
	Function Function `json:"function"`
	Class    string   `json:"class"` // resource class: cpu, gpu, ...

	Pipeline string          `json:"pipeline"`
	Revision uint64          `json:"revision"` // of the pipeline in PIPELINES; 0 for one given inline
	Spec     json.RawMessage `json:"spec"`     // the pipeline itself at that revision, as JSON
	Run      string          `json:"run"`

	Inputs     Inputs    `json:"inputs"`
	Causes     []Cause   `json:"causes"` // the facts joined, in FACTS order; the last completed the join
	Generation int       `json:"generation,omitempty"`
	Created    time.Time `json:"created"` // when the completing fact was stored
	Trace      string    `json:"traceparent,omitempty"`
}

// Inputs are the artifacts a job reads, by address, pinned when its join completed. Empty means: not given.
type Inputs struct {
	Examples            []Examples `json:"examples,omitempty"`             // raw
	TransformedExamples []Examples `json:"transformed_examples,omitempty"` // after TransformGraph
	TransformGraph      string     `json:"transform_graph,omitempty"`
	Schema              string     `json:"schema,omitempty"`
	Statistics          string     `json:"statistics,omitempty"`
	Hyperparameters     string     `json:"hyperparameters,omitempty"`
	BaseModel           string     `json:"base_model,omitempty"`
}

// Cause is a fact that a job was made from.
type Cause struct {
	Kind     Kind   `json:"kind"`
	Source   string `json:"source"`
	ID       string `json:"id"`
	Sequence uint64 `json:"sequence"` // in FACTS
}
