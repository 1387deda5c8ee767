package pipeline

import "strings"

// Tuner says when hyperparameters are searched for before training.
type Tuner struct {
	When     string   `json:"when" jsonschema:"required,description=When to tune: never reuses the last best hyperparameters of the pipeline"`
	TuneArgs TuneArgs `json:"tune_args,omitzero"`
	OnFailed string   `json:"on_failed" jsonschema:"enum=latest,enum=fail,default=latest,description=What a run does whose tuning failed: train with the last best hyperparameters\\, or fail"`
}

// TuneArgs are TFX's TuneArgs.
type TuneArgs struct {
	NumParallelTrials int `json:"num_parallel_trials,omitempty"`
}

// Tuner.When. Only never can be done yet.
const (
	TuneNever   = "never" // each run is told the last best hyperparameters of the pipeline, as reused
	TuneAlways  = "always"
	TuneChanged = "changed" // when module, schema or transform graph have changed
	TuneEvery   = "every"   // every: 7d
)

// Tuner.OnFailed.
const (
	OnFailedLatest = "latest" // the run goes on with the last best hyperparameters of the pipeline; without any, it ends
	OnFailedFail   = "fail"   // the run ends
)

// AwaitsTuning says whether a run's training waits for what comes of its tuning, be it hyperparameters or a failure.
func (p Pipeline) AwaitsTuning() bool { return p.Tuner != nil && p.ownHyperparameters() }

func (r *report) tuner(t *Tuner) {
	if t == nil {
		return
	}
	word, _, _ := strings.Cut(t.When, ":")
	switch {
	case t.When == "":
		r.add("tuner.when", "missing, expected never")
	default:
		r.oneOf("tuner.when", word, TuneNever, TuneAlways, TuneChanged, TuneEvery)
	}
	r.oneOf("tuner.on_failed", t.OnFailed, OnFailedLatest, OnFailedFail)
}
