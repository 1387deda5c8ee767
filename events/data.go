package events

import (
	"encoding/json"
	"time"
)

// Examples is one Examples artifact: a folder with one Split-<name> folder for each split.
type Examples struct {
	URI           string   `json:"uri" jsonschema:"required,description=Address of the artifact folder: s3://bucket/key"`
	Splits        []string `json:"splits,omitempty" jsonschema:"description=Splits the folder holds. Default: train and eval"`
	Span          int64    `json:"span,omitempty"`
	Version       int64    `json:"version,omitempty"`
	FileFormat    string   `json:"file_format,omitempty" jsonschema:"description=tfrecords_gzip (default) or tfrecords"`
	PayloadFormat string   `json:"payload_format,omitempty" jsonschema:"description=FORMAT_TF_EXAMPLE (default) or FORMAT_TF_SEQUENCE_EXAMPLE"`
}

// Spec carries a pipeline inline, for publishers that are trusted to choose the code that runs (local, or by account).
type Spec struct {
	PipelineSpec json.RawMessage `json:"pipeline_spec,omitempty" jsonschema:"description=A whole pipeline inline. Refused unless the publisher's account may choose code"`
}

// ExamplesReady says that examples can be read.
type ExamplesReady struct {
	Examples   []Examples `json:"examples" jsonschema:"required,minItems=1"`
	Schema     string     `json:"schema,omitempty" jsonschema:"description=Address of a Schema artifact folder or of schema.pbtxt itself"`
	Statistics string     `json:"statistics,omitempty"`
	Spec
}

// TransformReady says that a transform graph, and perhaps the examples it transformed, can be read.
type TransformReady struct {
	TransformGraph      string     `json:"transform_graph" jsonschema:"required"`
	TransformedExamples []Examples `json:"transformed_examples,omitempty"`
	Examples            []Examples `json:"examples,omitempty"`
	Schema              string     `json:"schema,omitempty"`
	Spec
}

// HParamsReady says which hyperparameters to use.
type HParamsReady struct {
	Hyperparameters string         `json:"hyperparameters" jsonschema:"required,description=Address of a HyperParameters artifact folder"`
	Values          map[string]any `json:"values,omitempty"`
	Score           *float64       `json:"score,omitempty"`
	Objective       string         `json:"objective,omitempty"`
	Study           string         `json:"study,omitempty"`
	Reused          bool           `json:"reused,omitempty"`
	Spec
}

// Artifact names one artifact and what it held.
type Artifact struct {
	Type   string `json:"type" jsonschema:"required,description=TFX's type name: Examples, Schema, TransformGraph, HyperParameters, Model"`
	URI    string `json:"uri" jsonschema:"required"`
	Digest string `json:"digest" jsonschema:"required,description=sha256:<hex> over the listing or the manifest"`
}

// Model is a trained model's address.
type Model struct {
	URI     string   `json:"uri" jsonschema:"required,description=Address of the Model artifact: the folder that holds Format-Serving"`
	Digest  string   `json:"digest" jsonschema:"required"`
	Formats []string `json:"formats" jsonschema:"required,minItems=1,description=Folders in it: Format-Serving and so on"`
}

// Skew is what the train/serve comparison at publish found.
type Skew struct {
	Rows      int     `json:"rows"`
	MaxAbs    float64 `json:"max_abs"`
	Tolerance float64 `json:"tolerance"`
}

// ModelTrained says that a model has been trained, checked and committed.
type ModelTrained struct {
	Model           Model              `json:"model" jsonschema:"required"`
	ModelRun        string             `json:"model_run,omitempty"`
	EvalModel       string             `json:"eval_model,omitempty"`
	Execution       string             `json:"execution" jsonschema:"required,description=sha256:<hex> of everything that decided the result"`
	Generation      int                `json:"generation"`
	Cached          bool               `json:"cached"`
	Metrics         map[string]float64 `json:"metrics,omitempty"`
	Inputs          []Artifact         `json:"inputs" jsonschema:"required"`
	Hyperparameters map[string]any     `json:"hyperparameters,omitempty"`
	Module          string             `json:"module" jsonschema:"required,description=Digest of the module's code"`
	BaseModel       string             `json:"base_model,omitempty"`
	Skew            *Skew              `json:"skew,omitempty"`
	Started         time.Time          `json:"started"`
	Finished        time.Time          `json:"finished"`
	Attempts        int                `json:"attempts"`
}

// Failed is what TrainingFailed and TuningFailed tell.
type Failed struct {
	Reason    FailureKind `json:"kind" jsonschema:"required"`
	Message   string      `json:"message" jsonschema:"required"`
	LogTail   string      `json:"log_tail,omitempty"`
	Log       string      `json:"log,omitempty" jsonschema:"description=Address of the whole log"`
	Attempt   int         `json:"attempt"`
	Execution string      `json:"execution,omitempty"`
}

// TrainingFailed says that a run's training ended without a model.
type TrainingFailed struct{ Failed }

// TuningFailed says that a run's tuning ended without hyperparameters.
type TuningFailed struct{ Failed }
