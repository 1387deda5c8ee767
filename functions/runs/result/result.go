// Package result holds what a committed execution says about itself in its manifest, next to its
// artifacts: what it was made of and what came out. The executor writes it, and every reader of a
// manifest reads it here: the event of a job, lineage, inspect, reproduce and the console. Read
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

// Result is what a training or a search leaves in addition to its artifacts. It is kept in the
// manifest, so that a cache hit announces the same. The format outlives a version: a member that is
// added needs a frozen file (testdata/frozen).
type Result struct {
	Job    string            `json:"job"` // that did the work
	Module string            `json:"module"`
	Inputs []events.Artifact `json:"inputs"`

	Training
	Search

	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished"`
	Attempts int       `json:"attempts"`
	Resumed  int       `json:"resumed,omitempty"` // step of the checkpoint that the last attempt resumed from
}

// Training is the part of a Result that a training leaves.
type Training struct {
	Metrics         map[string]float64 `json:"metrics,omitempty"`
	Hyperparameters map[string]any     `json:"hyperparameters,omitempty"` // values only
	BaseModel       string             `json:"base_model,omitempty"`
	Settings        json.RawMessage    `json:"settings,omitempty"` // that the training used, as its module reports them, without secrets
	Skew            *events.Skew       `json:"skew,omitempty"`
	Notes           []string           `json:"notes,omitempty"` // what was asked for and is missing, and why
}

// Search is the part of a Result that a search for hyperparameters leaves.
type Search struct {
	Shape  *drift.Shape   `json:"shape,omitempty"` // of the inputs; nil where they could not be read
	Values map[string]any `json:"values,omitzero"`
	Score  *float64       `json:"score,omitempty"`  // of the best trial
	Trials int            `json:"trials,omitempty"` // that were completed

	// Of a study that Stoker ran.
	Study     string   `json:"study,omitempty"`
	Objective string   `json:"objective,omitempty"`
	Best      string   `json:"best,omitempty"` // trial
	Why       tune.Why `json:"why,omitempty"`  // it ended
	Note      string   `json:"note,omitempty"` // what was asked for and is missing, and why
}

// Of parses the result in a manifest.
func Of(m storage.Manifest) (r Result, err error) {
	if err := json.Unmarshal(m.Result, &r); err != nil {
		return Result{}, fmt.Errorf("result: %w", err)
	}
	return r, nil
}

// MaxBytes is how much of a result an event may carry: a quarter of NATS's default limit for a
// message.
const MaxBytes = 256 << 10

// CheckSize returns an error if the result is too large for an event, or can't be written. The
// shape of a search's inputs is in no event.
func (r Result) CheckSize() error {
	r.Shape = nil
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("what the module reported: %w", err)
	}
	if len(text) > MaxBytes {
		return fmt.Errorf("metrics, inputs and hyperparameters have %d bytes, more than the %d that an event may carry", len(text), MaxBytes)
	}
	return nil
}
