// Package result has the result of a committed execution, which is stored in its manifest, next to
// its artifacts: its inputs and its outcome. The executor writes it, and every reader of a manifest
// reads it with this package: the event of a job, lineage, inspect, reproduce and the console. Read
// Result.
package result

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/stoker-ml/stoker/compute/tf/drift"
	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/storage"
)

// Result is what a training or a search produces in addition to its artifacts. It is stored in the
// manifest, so that a cache hit announces the same. The format outlives a version: a new member
// needs a frozen file (testdata/frozen).
type Result struct {
	Job    string            `json:"job"` // the job that did the work
	Module string            `json:"module"`
	Inputs []events.Artifact `json:"inputs"`

	Training
	Search

	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished"`
	Attempts int       `json:"attempts"`
	// Step of the checkpoint that the last attempt resumed from.
	Resumed int `json:"resumed,omitempty"`
	// Where the last attempt ran; nil in the result of an earlier version.
	Environment *Environment `json:"environment,omitempty"`
}

// Environment is what an attempt ran on. It does not determine the result: what does is in the
// digest of the module and in the execution.
type Environment struct {
	Worker   string `json:"worker,omitempty"`   // the worker's process
	Host     string `json:"host,omitempty"`     // the worker's name for its machine
	Stoker   string `json:"stoker,omitempty"`   // version of the worker
	Platform string `json:"platform,omitempty"` // linux/amd64
	// Of the worker's container, as its operator names it.
	Image string `json:"image,omitempty"`
	// Versions, of a TFX module. Keras is the one that the module was run with.
	Python     string `json:"python,omitempty"`
	TensorFlow string `json:"tensorflow,omitempty"`
	Keras      string `json:"keras,omitempty"`
	// The name of the GPU, of a builtin module on one.
	GPU string `json:"gpu,omitempty"`
	// Devices that the module could use, as CUDA names them.
	GPUs []string `json:"gpus,omitempty"`
}

// Training is the part of a Result that a training produces.
type Training struct {
	Metrics         map[string]float64 `json:"metrics,omitempty"`
	Hyperparameters map[string]any     `json:"hyperparameters,omitempty"` // only the values
	BaseModel       string             `json:"base_model,omitempty"`
	// Settings that the training used, as its module reports them, without secrets.
	Settings json.RawMessage `json:"settings,omitempty"`
	Skew     *events.Skew    `json:"skew,omitempty"`
	Notes    []string        `json:"notes,omitempty"` // requested outputs that are missing, and why
}

// Search is the part of a Result that a search for hyperparameters produces.
type Search struct {
	Shape  *drift.Shape   `json:"shape,omitempty"` // of the inputs; nil if they could not be read
	Values map[string]any `json:"values,omitzero"`
	Score  *float64       `json:"score,omitempty"`  // of the best trial
	Trials int            `json:"trials,omitempty"` // number of completed trials

	// Of a study that Stoker ran.
	Study     string   `json:"study,omitempty"`
	Objective string   `json:"objective,omitempty"`
	Best      string   `json:"best,omitempty"` // the best trial
	Why       tune.Why `json:"why,omitempty"`  // why it ended
	Note      string   `json:"note,omitempty"` // requested outputs that are missing, and why
}

// Of parses the result in a manifest.
func Of(m storage.Manifest) (r Result, err error) {
	if err := json.Unmarshal(m.Result, &r); err != nil {
		return Result{}, fmt.Errorf("result: %w", err)
	}
	return r, nil
}

// MaxBytes is the largest result that an event may carry: a quarter of NATS's default limit for a
// message.
const MaxBytes = 256 << 10

// CheckSize returns an error if the result is too large for an event, or can't be encoded. Events
// do not contain the shape of a search's inputs.
func (r Result) CheckSize() error {
	r.Shape = nil
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("report of the module: %w", err)
	}
	if len(text) > MaxBytes {
		return fmt.Errorf("metrics, inputs and hyperparameters have %d bytes, more than the maximum of %d for an event", len(text), MaxBytes)
	}
	return nil
}
