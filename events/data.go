package events

import (
	"encoding/json"
	"time"
)

// In the tags, format=s3, format=digest and format=split stand for the patterns in words.go: the schemas carry the pattern.

// Examples is one Examples artifact: a folder with one Split-<name> folder for each split.
type Examples struct {
	URI           string   `json:"uri" jsonschema:"required,format=s3,description=Address of the artifact folder"`
	Splits        []string `json:"splits,omitempty" jsonschema:"format=split,description=Splits the folder holds. Default: train and eval"`
	Span          int64    `json:"span,omitempty" jsonschema:"minimum=0"`
	Version       int64    `json:"version,omitempty" jsonschema:"minimum=0"`
	FileFormat    string   `json:"file_format,omitempty" jsonschema:"enum=tfrecords_gzip,enum=FORMAT_TFRECORDS_GZIP,enum=tfrecords,description=Default: tfrecords_gzip"`
	PayloadFormat string   `json:"payload_format,omitempty" jsonschema:"enum=FORMAT_TF_EXAMPLE,enum=FORMAT_TF_SEQUENCE_EXAMPLE,description=Default: FORMAT_TF_EXAMPLE. All artifacts of a list have the same"`

	// CustomSplitPattern is TFX's custom property of that name (tfx/components/util/examples_utils.py): where an artifact has it,
	// its keys are the artifact's splits, and Splits and the Split-<name> folders don't count.
	CustomSplitPattern map[string]string `json:"custom_split_pattern,omitempty" jsonschema_extras:"format=patterns" jsonschema:"description=Of each split the pattern of its files\\, relative to the artifact: subdir/train-*-of-*. Default: Split-<name>/*"`
}

// Formats of an Examples artifact, in TFX's own words. TFX has more; Stoker reads these.
const (
	FileTFRecordsGzip      = "tfrecords_gzip"
	FileFormatRecordsGzip  = "FORMAT_TFRECORDS_GZIP" // the same, in newer versions of TFX
	FileTFRecords          = "tfrecords"
	PayloadExample         = "FORMAT_TF_EXAMPLE"
	PayloadSequenceExample = "FORMAT_TF_SEQUENCE_EXAMPLE"
)

// Request is what a publisher may ask for besides telling what is ready.
type Request struct {
	// PipelineSpec is for publishers that are trusted to choose the code that runs (local, or by account).
	PipelineSpec json.RawMessage `json:"pipeline_spec,omitempty" jsonschema:"type=object,description=A whole pipeline inline. Refused unless the publisher's account may choose code"`
	Force        bool            `json:"force,omitempty" jsonschema:"description=Train even if the same was trained before: the execution is salted with this event's id"`
}

// RequestOf is what the publisher of data asks for; nothing, for kinds that can't.
func RequestOf(data Data) Request {
	switch d := data.(type) {
	case *ExamplesReady:
		return d.Request
	case *TransformReady:
		return d.Request
	case *HParamsReady:
		return d.Request
	}
	return Request{}
}

// ExamplesReady says that examples can be read.
type ExamplesReady struct {
	Examples   []Examples `json:"examples" jsonschema:"required,minItems=1"`
	Schema     string     `json:"schema,omitempty" jsonschema:"format=s3,description=Address of a Schema artifact folder or of schema.pbtxt itself"`
	Statistics string     `json:"statistics,omitempty" jsonschema:"format=s3,description=Address of an ExampleStatistics artifact folder"`
	Request
}

// TransformReady says that a transform graph, and perhaps the examples it transformed, can be read.
type TransformReady struct {
	TransformGraph      string     `json:"transform_graph" jsonschema:"required,format=s3,description=Address of a TransformGraph artifact folder"`
	TransformedExamples []Examples `json:"transformed_examples,omitempty"`
	Examples            []Examples `json:"examples,omitempty"`
	Schema              string     `json:"schema,omitempty" jsonschema:"format=s3,description=Default: the one inside the graph's transformed_metadata or metadata"`
	Statistics          string     `json:"statistics,omitempty" jsonschema:"format=s3,description=Address of an ExampleStatistics artifact folder: of the examples that Transform read"`
	Request
}

// HParamsReady says which hyperparameters to use.
type HParamsReady struct {
	Hyperparameters string         `json:"hyperparameters" jsonschema:"required,format=s3,description=Address of a HyperParameters artifact folder"`
	Values          map[string]any `json:"values,omitempty"`
	Score           *float64       `json:"score,omitempty"`
	Objective       string         `json:"objective,omitempty"`
	Study           string         `json:"study,omitempty" jsonschema:"description=What was tried. Of Stoker's own: address of a TunerResults artifact folder"`
	Execution       string         `json:"execution,omitempty" jsonschema:"format=digest,description=Of everything that decided the search\\, where Stoker made it"`
	Generation      int            `json:"generation,omitempty" jsonschema:"minimum=0"`
	Salt            string         `json:"salt,omitempty" jsonschema:"description=Makes another execution of the same inputs. A replay needs it to make the same one again"`
	Cached          bool           `json:"cached,omitempty" jsonschema:"description=An earlier search of the same was taken"`
	Reused          bool           `json:"reused,omitempty" jsonschema:"description=Tuning was skipped: these are the last best"`
	Job             string         `json:"job,omitempty" jsonschema:"description=ID of the tune job that this event answers\\, where Stoker made it"`
	JobRequest      string         `json:"job_request,omitempty" jsonschema:"description=Who asked for that job again: a dead letter or a replay"`
	Request
}

// Artifact names one artifact and what it held.
type Artifact struct {
	Type   string `json:"type" jsonschema:"required,minLength=1,description=TFX's type name: Examples Schema TransformGraph HyperParameters Model"`
	URI    string `json:"uri" jsonschema:"required,format=s3"`
	Digest string `json:"digest" jsonschema:"required,format=digest,description=Over the listing or the manifest"`
}

// Model is a trained model's address.
type Model struct {
	URI     string   `json:"uri" jsonschema:"required,format=s3,description=Address of the Model artifact: the folder that holds Format-Serving"`
	Digest  string   `json:"digest" jsonschema:"required,format=digest"`
	Formats []string `json:"formats" jsonschema:"required,minItems=1,format=split,description=Folders in it: Format-Serving and so on"`
}

// Skew is what the train/serve comparison at publish found. A difference beyond the tolerance is no event of a model, but stops the
// job.
type Skew struct {
	Rows      int      `json:"rows" jsonschema:"minimum=0,description=Rows that were compared\\, by the model's answers or by its transformed features"`
	MaxAbs    float64  `json:"max_abs" jsonschema:"description=Largest difference between an answer of the files and what it should be"`
	Tolerance float64  `json:"tolerance"`
	Raw       bool     `json:"raw" jsonschema:"description=The rows went in as requests do. Else they were transformed ones\\, behind the transform graph"`
	By        []string `json:"by,omitempty" jsonschema:"enum=go,enum=tensorflow,description=Who asked the model in its files"`
	Note      string   `json:"note,omitempty" jsonschema:"description=What was not compared\\, and why"`

	Asked       int    `json:"asked,omitempty" jsonschema:"minimum=0,description=Rows that the serving signature answered without an error\\, as requests have them: without labels. 0: it was not asked"`
	NotCompared string `json:"not_compared,omitempty" jsonschema:"description=Why no answer of the serving signature was compared with the model in memory. Left out where some were"`
}

// ModelTrained says that a model has been trained, checked and committed.
type ModelTrained struct {
	Model           Model              `json:"model" jsonschema:"required"`
	ModelRun        string             `json:"model_run,omitempty" jsonschema:"format=s3"`
	EvalModel       string             `json:"eval_model,omitempty" jsonschema:"format=s3"`
	Execution       string             `json:"execution" jsonschema:"required,format=digest,description=Of everything that decided the result"`
	Generation      int                `json:"generation" jsonschema:"minimum=0"`
	Salt            string             `json:"salt,omitempty" jsonschema:"description=Makes another execution of the same inputs. A replay needs it to make the same one again"`
	Cached          bool               `json:"cached"`
	Metrics         map[string]float64 `json:"metrics,omitempty"`
	Inputs          []Artifact         `json:"inputs" jsonschema:"required"`
	Hyperparameters map[string]any     `json:"hyperparameters,omitempty"`
	Settings        json.RawMessage    `json:"settings,omitempty" jsonschema:"type=object,description=What the training used\\, defaults included\\, as its module says. Secrets are hidden"`
	Module          string             `json:"module" jsonschema:"required,minLength=1,description=Digest of the module's code"`
	BaseModel       string             `json:"base_model,omitempty" jsonschema:"format=s3"`
	Skew            *Skew              `json:"skew,omitempty"`
	Notes           []string           `json:"notes,omitempty" jsonschema:"description=What was asked for and is not there: a format that the model can't be written in\\, with the reason"`
	Started         time.Time          `json:"started"`
	Finished        time.Time          `json:"finished"`
	Attempts        int                `json:"attempts" jsonschema:"minimum=0"`
	Job             string             `json:"job,omitempty" jsonschema:"description=ID of the train job that this event answers"`
	JobRequest      string             `json:"job_request,omitempty" jsonschema:"description=Who asked for that job again: a dead letter or a replay"`
}

// ModelBlessed says what an Evaluator found of a model: that it may be served, and be the base of new ones, or that it may not. The
// newest word on a model counts.
type ModelBlessed struct {
	Model    string `json:"model" jsonschema:"required,format=s3,description=Address of the Model artifact\\, as model.trained has it"`
	Blessed  *bool  `json:"blessed" jsonschema:"required"` // nil: not said, which is refused
	Blessing string `json:"blessing,omitempty" jsonschema:"format=s3,description=Address of TFX's ModelBlessing artifact: the folder with BLESSED or NOT_BLESSED in it"`
}

// Failed is the data of TrainingFailed and TuningFailed.
type Failed struct {
	Reason    FailureKind `json:"kind" jsonschema:"required,enum=input,enum=module,enum=check,enum=crash,enum=resources,enum=incomplete,enum=cancelled,enum=unavailable"`
	Message   string      `json:"message" jsonschema:"required,minLength=1"`
	LogTail   string      `json:"log_tail,omitempty" jsonschema:"description=The end of the module's log"`
	Log       string      `json:"log,omitempty" jsonschema:"format=s3,description=Address of the whole log"`
	Attempt   int         `json:"attempt" jsonschema:"minimum=0"`
	Execution string      `json:"execution,omitempty" jsonschema:"format=digest"`

	Job        string `json:"job,omitempty" jsonschema:"description=ID of the job that this event answers\\, if the run had one"`
	JobRequest string `json:"job_request,omitempty" jsonschema:"description=Who asked for that job again: a dead letter or a replay"`
}

// TrainingFailed says that a run's training ended without a model.
type TrainingFailed struct {
	Failed
	Through uint64 `json:"through,omitempty" jsonschema:"minimum=0,description=Of a run that ended without a job: sequence of its last event that counted. Later ones change nothing"`
}

// TuningFailed says that a run's tuning ended without hyperparameters.
type TuningFailed struct{ Failed }
