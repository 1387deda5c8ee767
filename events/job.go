package events

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Function is the function of Stoker that a job is for.
type Function string

// The functions.
const (
	FunctionTrain Function = "train"
	FunctionTune  Function = "tune"
	FunctionTrial Function = "trial"
)

// Functions lists every function.
func Functions() []Function { return []Function{FunctionTrain, FunctionTune, FunctionTrial} }

// Job is one unit of work on the work queue. It is self-contained: the worker that claims it needs
// only the store.
type Job struct {
	// Digest of (pipeline, revision, run, function, pinned events): a pure function, in
	// functions/dispatch/join.
	ID       string   `json:"id" jsonschema:"required,format=jobid"`
	Function Function `json:"function" jsonschema:"required,enum=train,enum=tune,enum=trial"`
	// Resource class: cpu, gpu, ...
	Class string `json:"class" jsonschema:"required,format=class"`

	Pipeline string `json:"pipeline" jsonschema:"required,format=name"`
	// Of the pipeline in PIPELINES; 0 for one given inline.
	Revision uint64 `json:"revision" jsonschema:"minimum=0"`
	// The pipeline itself at that revision, as JSON.
	Spec json.RawMessage `json:"spec" jsonschema:"required,type=object"`
	Run  string          `json:"run" jsonschema:"required,minLength=1"`

	Inputs Inputs `json:"inputs"`
	// The joined events, in EVENTS order; the last one completed the join.
	Causes     []Cause   `json:"causes" jsonschema:"required,minItems=1"`
	Generation int       `json:"generation,omitempty" jsonschema:"minimum=0,description=The least generation that its model may have: one more for each time that a committed model was lost"`
	Salt       string    `json:"salt,omitempty" jsonschema:"description=Makes another execution of the same inputs: set where a user wants a training done again"`
	Study      string    `json:"study,omitempty" jsonschema:"description=Of a trial job: the study whose trials it takes\\, one after another. The hexadecimal digits of its search's execution"`
	Request    string    `json:"request,omitempty" jsonschema:"description=ID of the dead letter or the replay that requested it again. Not part of the job's identity"`
	Created    time.Time `json:"created"` // when the completing event was stored
	Trace      string    `json:"traceparent,omitempty"`
	TraceState string    `json:"tracestate,omitempty"`
}

// Inputs are the artifacts that a job reads, by address, pinned when its join completed. Empty
// means: not given.
type Inputs struct {
	Examples            []Examples `json:"examples,omitempty"`             // raw
	TransformedExamples []Examples `json:"transformed_examples,omitempty"` // after TransformGraph
	TransformGraph      string     `json:"transform_graph,omitempty" jsonschema:"format=s3"`
	Schema              string     `json:"schema,omitempty" jsonschema:"format=s3"`
	Statistics          string     `json:"statistics,omitempty" jsonschema:"format=s3"`
	Hyperparameters     string     `json:"hyperparameters,omitempty" jsonschema:"format=s3"`
	BaseModel           string     `json:"base_model,omitempty" jsonschema:"format=s3"`
}

// Cause is an event that a job was made from.
type Cause struct {
	Kind     Kind   `json:"kind" jsonschema:"required,format=kind"`
	Source   string `json:"source" jsonschema:"required,minLength=1"`
	ID       string `json:"id" jsonschema:"required,minLength=1"`
	Sequence uint64 `json:"sequence" jsonschema:"minimum=0"` // in EVENTS
}

// DecodeJob reads a message of the work queue. The error for an invalid job is an *Invalid.
func DecodeJob(body []byte) (Job, error) {
	var job Job
	if err := unmarshal("", body, &job); err != nil {
		return Job{}, err
	}
	if err := job.Validate(); err != nil {
		return Job{}, err
	}
	return job, nil
}

// Validate returns an *Invalid that names the field by its JSON path.
func (j Job) Validate() error {
	if err := CheckJobID("id", j.ID); err != nil {
		return err
	}
	if !slices.Contains(Functions(), j.Function) {
		return invalid("function", "train, tune or trial", string(j.Function))
	}
	if j.Study != "" || j.Function == FunctionTrial {
		if err := CheckJobID("study", j.Study); err != nil {
			return err
		}
	}
	return first(
		CheckClass("class", j.Class),
		CheckName("pipeline", j.Pipeline),
		CheckRun("run", j.Run),
		checkObject("spec", j.Spec),
		below("inputs", j.Inputs.validate()),
		checkCauses("causes", j.Causes),
		checkCount("generation", int64(j.Generation)),
		optionalText("salt", j.Salt, maxID),
		optionalText("request", j.Request, maxID),
	)
}

func (in Inputs) validate() error {
	return first(
		checkExamples("examples", in.Examples),
		checkExamples("transformed_examples", in.TransformedExamples),
		optionalURI("transform_graph", in.TransformGraph),
		optionalURI("schema", in.Schema),
		optionalURI("statistics", in.Statistics),
		optionalURI("hyperparameters", in.Hyperparameters),
		optionalURI("base_model", in.BaseModel),
	)
}

func checkCauses(field string, causes []Cause) error {
	if len(causes) == 0 {
		return invalid(field, "the events that led to the job", "")
	}
	for i, cause := range causes {
		at := fmt.Sprintf("%s[%d]", field, i)
		if !slices.Contains(Kinds(), cause.Kind) {
			return invalid(at+".kind", "a kind of event", string(cause.Kind))
		}
		if err := first(checkText(at+".source", cause.Source, maxSource), checkText(at+".id", cause.ID, maxID)); err != nil {
			return err
		}
	}
	return nil
}
