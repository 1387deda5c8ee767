package join

import (
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// Wants says which "latest" a complete join still has to have looked up, all of it among the facts before it completed.
type Wants struct {
	Hyperparameters bool // the newest HParamsReady of the pipeline
	BaseModel       bool // the newest ModelTrained
	Blessed         bool // the newest model that is blessed
	Spans           int  // the examples of so many spans: see Window; 0 for those that the run names
}

// Wants reads the policies of the pipeline against what the run brought itself.
func (j Join) Wants(p pipeline.Pipeline) Wants {
	policy := p.Trainer.Hyperparameters
	_, own := j.Fact(events.KindHParamsReady)
	latest := policy == pipeline.HyperparametersLatest || policy == pipeline.HyperparametersAuto
	return Wants{
		Hyperparameters: !own && (latest || j.tuningFailed(p)),
		BaseModel:       p.Trainer.BaseModel == pipeline.BaseModelLatest,
		Blessed:         p.Trainer.BaseModel == pipeline.BaseModelBlessed,
		Spans:           p.Trainer.Window,
	}
}

// Pin completes a join that is ready: from here on its job is fixed. A run whose tuning failed, in a pipeline that never had
// hyperparameters, ends instead.
func (j Join) Pin(p pipeline.Pipeline, revision uint64, latest Latest) Join {
	if j.tuningFailed(p) && latest.Hyperparameters == "" {
		return j.End(events.FailureIncomplete, j.untuned("the pipeline has no earlier hyperparameters to go on with"), j.Last().Stored)
	}
	j.State, j.Revision, j.Latest = Complete, revision, latest
	return j
}
