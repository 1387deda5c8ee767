// Package pipeline defines the pipeline file: what to train, by which module, on which events, with
// which arguments. It reads YAML, sets defaults, and reports all problems of a file at once, each
// with its line and column.
//
// It uses neither bus nor store: functions/stoker puts a Pipeline into the KV bucket,
// functions/dispatch/join makes jobs from it, and functions/execution/trainer reads the Pipeline in
// a job. Read Pipeline first, then Parse.
package pipeline

import (
	"encoding/json"
	"fmt"
)

// Pipeline is the deployed description of one model's training. A Pipeline returned by Parse or
// FromJSON is valid, with every default set.
type Pipeline struct {
	Name        string       `json:"pipeline" jsonschema:"required,pattern=^[a-z0-9][a-z0-9-]*$,maxLength=63,description=Name of the pipeline\\, which events have as their subject"`
	Module      Module       `json:"module" jsonschema:"required,description=The training code: builtin:<name>\\, a TFX module file\\, or a directory with a Go program or a compiled one"`
	Trainer     Trainer      `json:"trainer" jsonschema:"description=How a model is trained"`
	Tuner       *Tuner       `json:"tuner,omitempty" jsonschema:"description=How hyperparameters are searched for before training. Default: no search"`
	Concurrency *Concurrency `json:"concurrency,omitempty" jsonschema:"description=Number of runs in progress at the same time. Default: no limit"`
}

// Trainer configures the training of a run's model.
type Trainer struct {
	WaitFor         []string       `json:"wait_for" jsonschema:"description=Events that a run needs before its training starts. Default: transform\\, and hparams if the run tunes"`
	TrainArgs       Args           `json:"train_args" jsonschema:"description=Data and steps of the training"`
	EvalArgs        Args           `json:"eval_args" jsonschema:"description=Data and steps of the evaluation"`
	Hyperparameters string         `json:"hyperparameters" jsonschema:"enum=none,enum=run,enum=latest,enum=auto,default=auto,description=Hyperparameters of the training: none; run\\, those of this run; latest\\, those of this run or else the pipeline's newest; or auto\\, which is run if the pipeline tunes and latest otherwise"`
	BaseModel       string         `json:"base_model" jsonschema:"default=none,description=Model whose weights the training starts from: none\\, latest\\, blessed or an address"`
	Cache           Switch         `json:"cache" jsonschema:"default=on,description=off: train even if the same execution exists. Default: on"`
	Window          int            `json:"window,omitempty" jsonschema:"minimum=0,description=Number of spans to train on\\, counted from the last one; 0: the examples that the run names. Default: 0"`
	ExpireAfter     Expiry         `json:"expire_after" jsonschema:"default=168h,description=How long a run waits for its events before it ends as incomplete: a duration or never"`
	CustomConfig    map[string]any `json:"custom_config,omitzero" jsonschema:"description=Configuration that the module receives unchanged. Default: none"`
	Exports         []Export       `json:"exports,omitempty" jsonschema:"description=Formats that are written in addition to the SavedModel\\, each in a directory of its own. Default: none"`
	Model           string         `json:"model,omitempty" jsonschema:"enum=saved_model,enum=any,default=saved_model,description=What a training must produce: a SavedModel\\, or any model\\, which is only checked not to be empty"`
	Skew            Skew           `json:"skew" jsonschema:"description=Comparison of the model's files with the trained model\\, by raw evaluation rows\\, before the model is published"`
	Resources       Resources      `json:"resources" jsonschema:"description=Workers that take the job\\, and its limits"`
	MaxAttempts     int            `json:"max_attempts" jsonschema:"minimum=1,default=1,description=Attempts if the module raises an error or its model fails a check"`
	MaxCrashes      int            `json:"max_crashes" jsonschema:"minimum=1,default=3,description=Attempts if the module's process crashes or exceeds its limits"`
	MaxLost         int            `json:"max_lost,omitempty" jsonschema:"minimum=1,description=Attempts if the worker dies with the job\\, as when a pod exceeds its memory. Default: 5"`
	Seed            int64          `json:"seed" jsonschema:"default=0,description=Seed of the module's random numbers; for a TFX module of those of Python\\, NumPy\\, TensorFlow and Keras"`
	Deterministic   Switch         `json:"deterministic,omitempty" jsonschema:"default=off,description=on: a TFX module's training produces the same bits each time\\, by TensorFlow's deterministic ops. Builtin modules always do. Default: off"`
}

// Resources are the requirements of a job, which determine where it runs.
type Resources struct {
	Class    string   `json:"class" jsonschema:"pattern=^[a-z0-9]([a-z0-9-]*[a-z0-9])?$,maxLength=21,description=Class of workers that take the job. gpu\\, and every class that begins with gpu-\\, asks for a GPU. Default: cpu\\, or tpu for the strategy tpu"`
	Memory   Size     `json:"memory,omitempty" jsonschema:"description=Memory limit of the module's processes. Default: none"`
	Timeout  Duration `json:"timeout,omitempty" jsonschema:"description=Time limit of one attempt. Default: none"`
	Workers  int      `json:"workers" jsonschema:"minimum=1,maximum=64,default=1,description=Processes of a TFX module that train one model together"`
	Strategy string   `json:"strategy,omitempty" jsonschema:"enum=mirrored,enum=multi_worker,enum=tpu,description=How tf.distribute spreads one model of a TFX module. Default: multi_worker for several workers\\, else the module's choice"`
}

// Values of WaitFor that this package treats specially. events.WaitWords lists all of them.
const (
	WaitExamples  = "examples"
	WaitTransform = "transform"
	WaitHParams   = "hparams"
)

// Policies of Trainer.Hyperparameters.
const (
	HyperparametersNone = "none" // never any, not even those of the run
	HyperparametersRun  = "run"  // this run's; the run waits for them
	// This run's if there are any, else the newest of the pipeline, else none.
	HyperparametersLatest = "latest"
	HyperparametersAuto   = "auto" // run if this run tunes, else latest
)

// Policies of Trainer.BaseModel. Any other value is the address of a model.
const (
	BaseModelNone    = "none"
	BaseModelLatest  = "latest"  // the newest model of the pipeline, else none
	BaseModelBlessed = "blessed" // the one named by the last model.blessed, else none
)

// Values of Trainer.Model. The first is "" in a Pipeline, so that the JSON without the key is the
// same as before the key existed.
const (
	ModelSaved = "saved_model"
	ModelAny   = "any"
)

// JSON returns the canonical form: keys in a fixed order, no white space. Equal pipelines have
// equal JSON. Defaults of keys that were added later are left out, so that stored revisions remain
// the same; Effective has them.
func (p Pipeline) JSON() ([]byte, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("pipeline %s as JSON: %w", p.Name, err)
	}
	return text, nil
}

// Concurrency limits how many runs of a pipeline are processed at once. Further runs wait, oldest
// first (functions/dispatch/join.Admission).
type Concurrency struct {
	// At most so many that the list of concurrent runs fits one entry of a KV bucket.
	Runs   int    `json:"runs" jsonschema:"required,minimum=1,maximum=1000,description=Number of runs in progress"`
	Newest string `json:"newest" jsonschema:"enum=queue,enum=supersede,default=queue,description=What a run does that becomes ready: queue behind the waiting runs\\, or supersede them"`
}

// The effect of a run that becomes ready on the runs that wait.
const (
	NewestQueue = "queue" // it waits after them
	// They end, cancelled, and it takes their place; running ones continue.
	NewestSupersede = "supersede"
)

// long accepts `concurrency: 1` for `concurrency: {runs: 1}`.
func (c *Concurrency) long(n node) (node, error) {
	if _, short := n.value.(json.Number); !short {
		return n, nil
	}
	return node{at: n.at, value: []field{{key: "runs", at: n.at, node: n}}}, nil
}

func (c *Concurrency) forms() string {
	return "a number of runs or a mapping like {runs: 1, newest: supersede}"
}
