package events

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Data is the data of an event: a pointer to one of the types below. Its optional methods are those
// of RunData and MarkerData, and those that come with an embedded Request, Answer or Failed.
type Data interface {
	// Kind returns a constant of the type, which has a row in the table of kinds.
	Kind() Kind
	// Validate returns nil or an *Invalid naming the first bad field by its JSON path below data.
	Validate() error
	// Summary returns the most important detail of the event in one line, for people: the address
	// of what is ready, or why something failed.
	Summary() string
}

// RunData is the data of events that runs are made of.
type RunData interface {
	Data
	// Inputs returns the artifacts that the event names for the jobs of its run.
	Inputs() Inputs
}

// MarkerData is the data of events that the bridge publishes for marker objects.
type MarkerData interface {
	Data
	// Addresses returns the fields of the data that hold addresses of artifacts. A marker may name
	// these relative to its own folder.
	Addresses() []*string
}

// In the tags, format=s3, format=digest and format=split stand for the patterns in words.go, which
// the schemas contain.

// Examples is one Examples artifact: a folder with one Split-<name> folder for each split.
type Examples struct {
	URI           string   `json:"uri" jsonschema:"required,format=s3,description=Address of the artifact folder"`
	Splits        []string `json:"splits,omitempty" jsonschema:"format=split,description=Splits in the folder. Default: train and eval"`
	Span          int64    `json:"span,omitempty" jsonschema:"minimum=0"`
	Version       int64    `json:"version,omitempty" jsonschema:"minimum=0"`
	FileFormat    string   `json:"file_format,omitempty" jsonschema:"enum=tfrecords_gzip,enum=FORMAT_TFRECORDS_GZIP,enum=tfrecords,description=Default: tfrecords_gzip"`
	PayloadFormat string   `json:"payload_format,omitempty" jsonschema:"enum=FORMAT_TF_EXAMPLE,enum=FORMAT_TF_SEQUENCE_EXAMPLE,description=Default: FORMAT_TF_EXAMPLE. All artifacts of a list have the same"`

	// CustomSplitPattern is TFX's custom property of that name
	// (tfx/components/util/examples_utils.py): if an artifact has it, its keys are the artifact's
	// splits, and Splits and the Split-<name> folders don't count.
	CustomSplitPattern map[string]string `json:"custom_split_pattern,omitempty" jsonschema_extras:"format=patterns" jsonschema:"description=Pattern of the files of each split\\, relative to the artifact: subdir/train-*-of-*. Default: Split-<name>/*"`
}

// Formats of an Examples artifact, as TFX names them. TFX has more; Stoker reads these.
const (
	FileTFRecordsGzip      = "tfrecords_gzip"
	FileFormatRecordsGzip  = "FORMAT_TFRECORDS_GZIP" // the same, in newer versions of TFX
	FileTFRecords          = "tfrecords"
	PayloadExample         = "FORMAT_TF_EXAMPLE"
	PayloadSequenceExample = "FORMAT_TF_SEQUENCE_EXAMPLE"
)

// Request holds the requests that a publisher may add to an event.
type Request struct {
	// PipelineSpec is for publishers that are trusted to choose the code that runs (local, or by
	// account).
	PipelineSpec json.RawMessage `json:"pipeline_spec,omitempty" jsonschema:"type=object,description=A whole pipeline inline. Refused unless the publisher's account may choose code"`
	Force        bool            `json:"force,omitempty" jsonschema:"description=Train even if the same was trained before: the execution is salted with this event's id"`
}

func (r *Request) request() *Request { return r }

// RequestOf returns the request in data; a zero one for kinds without requests.
func RequestOf(data Data) Request {
	if asks, ok := data.(interface{ request() *Request }); ok {
		return *asks.request()
	}
	return Request{}
}

// WithForce returns a copy of data that requests a new training, or none. It returns false for
// kinds without requests.
func WithForce(data Data, force bool) (Data, bool) {
	copied := copyOf(reflect.ValueOf(data).Elem())
	asks, ok := copied.(interface{ request() *Request })
	if ok {
		asks.request().Force = force
	}
	return copied, ok
}

func (r Request) validate() error {
	if len(r.PipelineSpec) == 0 || bytes.Equal(r.PipelineSpec, []byte("null")) {
		return nil
	}
	return checkObject("pipeline_spec", r.PipelineSpec)
}

// Answer names the job that an event answers.
type Answer struct {
	Job        string `json:"job,omitempty" jsonschema:"description=ID of the job whose result this event is\\, if it is the result of one"`
	JobRequest string `json:"job_request,omitempty" jsonschema:"description=ID of the dead letter or the replay that requested that job again"`
}

func (a *Answer) answer() *Answer { return a }

// answerOf returns the job that an event answers; nil for kinds that answer none.
func answerOf(data Data) *Answer {
	if answers, ok := data.(interface{ answer() *Answer }); ok {
		return answers.answer()
	}
	return nil
}

// Output is the artifact of a job, as the event of its result names it.
type Output struct {
	URI        string
	Execution  string
	Generation int
	Cached     bool // it is the artifact of an earlier job
}

// OutputOf returns the artifact that data names as the result of a job; false for kinds that name
// none.
func OutputOf(data Data) (Output, bool) {
	if result, ok := data.(interface{ output() Output }); ok {
		return result.output(), true
	}
	return Output{}, false
}

// ExamplesReady says that examples can be read.
type ExamplesReady struct {
	Examples   []Examples `json:"examples" jsonschema:"required,minItems=1"`
	Schema     string     `json:"schema,omitempty" jsonschema:"format=s3,description=Address of a Schema artifact folder or of schema.pbtxt itself"`
	Statistics string     `json:"statistics,omitempty" jsonschema:"format=s3,description=Address of an ExampleStatistics artifact folder"`
	Request
}

// Kind implements Data.
func (*ExamplesReady) Kind() Kind { return KindExamplesReady }

// Validate implements Data.
func (d *ExamplesReady) Validate() error {
	if len(d.Examples) == 0 {
		return invalid("examples", "at least one Examples artifact", "")
	}
	return first(
		checkExamples("examples", d.Examples),
		optionalURI("schema", d.Schema),
		optionalURI("statistics", d.Statistics),
		d.Request.validate(),
	)
}

// Summary implements Data.
func (d *ExamplesReady) Summary() string { return d.Examples[0].URI }

// Inputs implements RunData.
func (d *ExamplesReady) Inputs() Inputs {
	return Inputs{Examples: d.Examples, Schema: d.Schema, Statistics: d.Statistics}
}

// Addresses implements MarkerData.
func (d *ExamplesReady) Addresses() []*string {
	return append(addressesOf(d.Examples), &d.Schema, &d.Statistics)
}

// TransformReady says that a transform graph, and possibly the examples it transformed, can be
// read.
type TransformReady struct {
	TransformGraph      string     `json:"transform_graph" jsonschema:"required,format=s3,description=Address of a TransformGraph artifact folder"`
	TransformedExamples []Examples `json:"transformed_examples,omitempty"`
	Examples            []Examples `json:"examples,omitempty"`
	Schema              string     `json:"schema,omitempty" jsonschema:"format=s3,description=Default: the one inside the graph's transformed_metadata or metadata"`
	Statistics          string     `json:"statistics,omitempty" jsonschema:"format=s3,description=Address of an ExampleStatistics artifact folder: of the examples that Transform read"`
	Request
}

// Kind implements Data.
func (*TransformReady) Kind() Kind { return KindTransformReady }

// Validate implements Data.
func (d *TransformReady) Validate() error {
	return first(
		CheckURI("transform_graph", d.TransformGraph),
		checkExamples("transformed_examples", d.TransformedExamples),
		checkExamples("examples", d.Examples),
		optionalURI("schema", d.Schema),
		optionalURI("statistics", d.Statistics),
		d.Request.validate(),
	)
}

// Summary implements Data.
func (d *TransformReady) Summary() string { return d.TransformGraph }

// Inputs implements RunData.
func (d *TransformReady) Inputs() Inputs {
	return Inputs{
		TransformGraph: d.TransformGraph, TransformedExamples: d.TransformedExamples, Examples: d.Examples,
		Schema: d.Schema, Statistics: d.Statistics,
	}
}

// Addresses implements MarkerData.
func (d *TransformReady) Addresses() []*string {
	return slices.Concat([]*string{&d.TransformGraph, &d.Schema, &d.Statistics}, addressesOf(d.TransformedExamples), addressesOf(d.Examples))
}

func addressesOf(list []Examples) []*string {
	var all []*string
	for i := range list {
		all = append(all, &list[i].URI)
	}
	return all
}

// HParamsReady says which hyperparameters to use.
type HParamsReady struct {
	Hyperparameters string         `json:"hyperparameters" jsonschema:"required,format=s3,description=Address of a HyperParameters artifact folder"`
	Values          map[string]any `json:"values,omitempty"`
	Score           *float64       `json:"score,omitempty"`
	Objective       string         `json:"objective,omitempty"`
	Study           string         `json:"study,omitempty" jsonschema:"description=Address of the trials: for a search by Stoker a TunerResults artifact folder"`
	Execution       string         `json:"execution,omitempty" jsonschema:"format=digest,description=Digest of everything that determined the search\\, for one by Stoker"`
	Generation      int            `json:"generation,omitempty" jsonschema:"minimum=0"`
	Salt            string         `json:"salt,omitempty" jsonschema:"description=Makes another execution of the same inputs. A replay needs it to make the same one again"`
	Cached          bool           `json:"cached,omitempty" jsonschema:"description=An earlier search of the same was taken"`
	Reused          bool           `json:"reused,omitempty" jsonschema:"description=Tuning was skipped: these are the last best"`
	Answer
	Request
}

// Kind implements Data.
func (*HParamsReady) Kind() Kind { return KindHParamsReady }

// Validate implements Data.
func (d *HParamsReady) Validate() error {
	if d.Score != nil {
		if err := checkFinite("score", *d.Score); err != nil {
			return err
		}
	}
	return first(
		CheckURI("hyperparameters", d.Hyperparameters),
		checkValues("values", d.Values),
		optionalDigest("execution", d.Execution),
		checkCount("generation", int64(d.Generation)),
		optionalText("salt", d.Salt, maxID),
		d.Request.validate(),
	)
}

// Summary implements Data.
func (d *HParamsReady) Summary() string { return d.Hyperparameters }

// Inputs implements RunData.
func (d *HParamsReady) Inputs() Inputs { return Inputs{Hyperparameters: d.Hyperparameters} }

// Addresses implements MarkerData.
func (d *HParamsReady) Addresses() []*string { return []*string{&d.Hyperparameters} }

func (d *HParamsReady) output() Output {
	return Output{d.Hyperparameters, d.Execution, d.Generation, d.Cached || d.Reused}
}

// Artifact names one artifact and its content.
type Artifact struct {
	Type   string `json:"type" jsonschema:"required,minLength=1,description=TFX's type name: Examples Schema TransformGraph HyperParameters Model"`
	URI    string `json:"uri" jsonschema:"required,format=s3"`
	Digest string `json:"digest" jsonschema:"required,format=digest,description=Digest of the listing or of the manifest"`
}

// Model is a trained model's address.
type Model struct {
	URI     string   `json:"uri" jsonschema:"required,format=s3,description=Address of the Model artifact: the folder that holds Format-Serving"`
	Digest  string   `json:"digest" jsonschema:"required,format=digest"`
	Formats []string `json:"formats" jsonschema:"required,minItems=1,format=split,description=Folders in it: Format-Serving and so on"`
}

// Skew is the result of the train/serve comparison before publishing. A difference beyond the
// tolerance stops the job instead.
type Skew struct {
	Rows      int      `json:"rows" jsonschema:"minimum=0,description=Rows that were compared\\, by the model's answers or by its transformed features"`
	MaxAbs    float64  `json:"max_abs" jsonschema:"description=Largest difference between an answer of the files and what it should be"`
	Tolerance float64  `json:"tolerance"`
	Raw       bool     `json:"raw" jsonschema:"description=true: the rows were raw\\, as in requests. false: they were transformed rows\\, given to the model behind the transform graph"`
	By        []string `json:"by,omitempty" jsonschema:"enum=go,enum=tensorflow,description=What ran the saved model"`
	Note      string   `json:"note,omitempty" jsonschema:"description=What was not compared\\, and why"`

	Asked       int    `json:"asked,omitempty" jsonschema:"minimum=0,description=Rows that the serving signature answered without an error\\, as requests have them: without labels. 0: it was not asked"`
	NotCompared string `json:"not_compared,omitempty" jsonschema:"description=Why no prediction of the serving signature was compared with the model in memory. Missing if some were compared"`
}

// ModelTrained says that a model has been trained, checked and committed.
type ModelTrained struct {
	Model           Model              `json:"model" jsonschema:"required"`
	ModelRun        string             `json:"model_run,omitempty" jsonschema:"format=s3"`
	EvalModel       string             `json:"eval_model,omitempty" jsonschema:"format=s3"`
	Execution       string             `json:"execution" jsonschema:"required,format=digest,description=Digest of everything that determined the result"`
	Generation      int                `json:"generation" jsonschema:"minimum=0"`
	Salt            string             `json:"salt,omitempty" jsonschema:"description=Makes another execution of the same inputs. A replay needs it to make the same one again"`
	Cached          bool               `json:"cached"`
	Metrics         map[string]float64 `json:"metrics,omitempty"`
	Inputs          []Artifact         `json:"inputs" jsonschema:"required"`
	Hyperparameters map[string]any     `json:"hyperparameters,omitempty"`
	Settings        json.RawMessage    `json:"settings,omitempty" jsonschema:"type=object,description=Settings of the training as its module reports them\\, with defaults. Secrets are hidden"`
	Module          string             `json:"module" jsonschema:"required,minLength=1,description=Digest of the module's code"`
	BaseModel       string             `json:"base_model,omitempty" jsonschema:"format=s3"`
	Skew            *Skew              `json:"skew,omitempty"`
	Notes           []string           `json:"notes,omitempty" jsonschema:"description=Outputs that were requested but are missing\\, with the reason: a format in which the model can't be written"`
	Started         time.Time          `json:"started"`
	Finished        time.Time          `json:"finished"`
	Attempts        int                `json:"attempts" jsonschema:"minimum=0"`
	Answer
}

// Kind implements Data.
func (*ModelTrained) Kind() Kind { return KindModelTrained }

// Validate implements Data.
func (d *ModelTrained) Validate() error {
	return first(
		below("model", d.Model.validate()),
		optionalURI("model_run", d.ModelRun),
		optionalURI("eval_model", d.EvalModel),
		checkDigest("execution", d.Execution),
		checkCount("generation", int64(d.Generation)),
		optionalText("salt", d.Salt, maxID),
		checkMetrics("metrics", d.Metrics),
		checkArtifacts("inputs", d.Inputs),
		checkValues("hyperparameters", d.Hyperparameters),
		checkText("module", d.Module, maxSource),
		optionalURI("base_model", d.BaseModel),
		below("skew", d.Skew.validate()),
		checkCount("attempts", int64(d.Attempts)),
	)
}

// Summary implements Data.
func (d *ModelTrained) Summary() string { return d.Model.URI }

func (d *ModelTrained) output() Output {
	return Output{d.Model.URI, d.Execution, d.Generation, d.Cached}
}

func (m Model) validate() error {
	if len(m.Formats) == 0 {
		return invalid("formats", "at least one, such as Format-Serving", "")
	}
	return first(
		CheckURI("uri", m.URI),
		checkDigest("digest", m.Digest),
		checkFolders("formats", m.Formats),
	)
}

func (s *Skew) validate() error {
	if s == nil {
		return nil
	}
	return first(
		checkCount("rows", int64(s.Rows)),
		checkCount("asked", int64(s.Asked)),
		checkFinite("max_abs", s.MaxAbs),
		checkFinite("tolerance", s.Tolerance),
	)
}

// ModelBlessed is the verdict of an Evaluator on a model: that it may be served, and be the base of
// new ones, or that it may not. The newest verdict on a model counts.
type ModelBlessed struct {
	Model    string `json:"model" jsonschema:"required,format=s3,description=Address of the Model artifact\\, as model.trained has it"`
	Blessed  *bool  `json:"blessed" jsonschema:"required"` // nil: missing, which is an error
	Blessing string `json:"blessing,omitempty" jsonschema:"format=s3,description=Address of TFX's ModelBlessing artifact: the folder with BLESSED or NOT_BLESSED in it"`
}

// Kind implements Data.
func (*ModelBlessed) Kind() Kind { return KindModelBlessed }

// Validate implements Data.
func (d *ModelBlessed) Validate() error {
	if d.Blessed == nil {
		return invalid("blessed", "true or false", "")
	}
	return first(CheckURI("model", d.Model), optionalURI("blessing", d.Blessing))
}

// Summary implements Data.
func (d *ModelBlessed) Summary() string { return d.Model }

// Failed is the data of TrainingFailed and TuningFailed.
type Failed struct {
	Reason    FailureKind `json:"kind" jsonschema:"required,enum=input,enum=module,enum=check,enum=crash,enum=resources,enum=incomplete,enum=cancelled,enum=unavailable"`
	Message   string      `json:"message" jsonschema:"required,minLength=1"`
	LogTail   string      `json:"log_tail,omitempty" jsonschema:"description=The end of the module's log"`
	Log       string      `json:"log,omitempty" jsonschema:"format=s3,description=Address of the whole log"`
	Attempt   int         `json:"attempt" jsonschema:"minimum=0"`
	Execution string      `json:"execution,omitempty" jsonschema:"format=digest"`

	Answer
}

// Validate implements Data.
func (d *Failed) Validate() error {
	if d.Message == "" {
		return invalid("message", "what went wrong", "")
	}
	return first(
		checkFailureKind("kind", d.Reason),
		optionalURI("log", d.Log),
		checkCount("attempt", int64(d.Attempt)),
		optionalDigest("execution", d.Execution),
	)
}

// Summary implements Data.
func (d *Failed) Summary() string {
	line, _, _ := strings.Cut(d.Message, "\n")
	return string(d.Reason) + ": " + line
}

func (d *Failed) failed() *Failed { return d }

// FailedOf returns the data that all kinds of failures have in common; nil for other kinds.
func FailedOf(data Data) *Failed {
	if failure, ok := data.(interface{ failed() *Failed }); ok {
		return failure.failed()
	}
	return nil
}

// TrainingFailed says that a run's training ended without a model.
type TrainingFailed struct {
	Failed
	Through uint64 `json:"through,omitempty" jsonschema:"minimum=0,description=Of a run that ended without a job: sequence of its last event that counted. Later ones change nothing"`
}

// Kind implements Data.
func (*TrainingFailed) Kind() Kind { return KindTrainingFailed }

// TuningFailed says that a run's tuning ended without hyperparameters.
type TuningFailed struct{ Failed }

// Kind implements Data.
func (*TuningFailed) Kind() Kind { return KindTuningFailed }

// Inputs implements RunData: the failure of its search is an event of a run, without artifacts.
func (*TuningFailed) Inputs() Inputs { return Inputs{} }

// checkFolders returns an error for names that can't be part of a folder's name.
func checkFolders(field string, names []string) error {
	for i, name := range names {
		if !splitRE.MatchString(name) {
			return invalid(fmt.Sprintf("%s[%d]", field, i), "a name of letters, digits, _, . and -", name)
		}
	}
	return nil
}

func checkArtifacts(field string, list []Artifact) error {
	if list == nil {
		return invalid(field, "the artifacts that were read", "")
	}
	for i, artifact := range list {
		err := first(
			checkText("type", artifact.Type, maxName),
			CheckURI("uri", artifact.URI),
			checkDigest("digest", artifact.Digest),
		)
		if err != nil {
			return below(fmt.Sprintf("%s[%d]", field, i), err)
		}
	}
	return nil
}

func checkMetrics(field string, metrics map[string]float64) error {
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		if err := checkFinite(field+"."+name, metrics[name]); err != nil {
			return err
		}
	}
	return nil
}

// checkValues returns an error for values that JSON can't hold, which a Go program may have set.
func checkValues(field string, values map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if _, err := json.Marshal(values[name]); err != nil {
			return invalid(field+"."+name, "a value that JSON can hold", fmt.Sprint(values[name]))
		}
	}
	return nil
}

func checkObject(field string, raw json.RawMessage) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil || object == nil {
		return invalid(field, "a JSON object", string(raw))
	}
	return nil
}
