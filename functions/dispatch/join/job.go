package join

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// Retry says how a job that is made once more differs from the first one. The zero value means that
// it does not.
type Retry struct {
	Generation int    `json:"generation,omitempty"` // the least generation that its model may have
	Salt       string `json:"salt,omitempty"`       // makes another execution
	Request    string `json:"request,omitempty"`    // the id of the request for it
}

// Job makes the job of a pinned stage. p is the pipeline at the stage's revision.
func (j Join) Job(p pipeline.Pipeline, function events.Function, retry Retry) (events.Job, error) {
	stage := j.Stage(function)
	at := j.At(stage)
	if stage.Revision == 0 || len(at.Events) == 0 || function == events.FunctionTune && p.Tuner == nil {
		return events.Job{}, fmt.Errorf("run %s of %s is %s: it has no %s stage", j.Run, j.Pipeline, j.State, function)
	}
	spec, err := p.JSON()
	if err != nil {
		return events.Job{}, fmt.Errorf("pipeline %s: %w", p.Name, err)
	}
	last := at.Last()
	job := events.Job{
		Function: function, Pipeline: j.Pipeline, Run: j.Run, Revision: stage.Revision, Spec: spec,
		Generation: retry.Generation, Request: retry.Request,
		Created: last.Stored, Trace: last.Trace, TraceState: last.TraceState,
	}
	for _, event := range at.Events {
		job.Causes = append(job.Causes, event.Cause)
	}
	if function == events.FunctionTune {
		job.Class, job.Inputs, job.Salt = p.Search().Resources.Class, at.searchInputs(stage.Latest), at.searchSalt(retry)
	} else {
		job.Class, job.Inputs, job.Salt = p.Trainer.Resources.Class, at.trainInputs(p, stage.Latest), at.trainSalt(p, retry)
	}
	job.ID, err = jobID(job)
	return job, err
}

// searchSalt is "" if the result of an earlier search may be used.
func (j Join) searchSalt(retry Retry) string {
	if retry.Salt != "" {
		return retry.Salt
	}
	return saltOf(j.forced())
}

// trainSalt is "" if a model that was trained before may be used. Otherwise it is made from what
// asks for a new one: events with force, or a pipeline without cache. A retry has the whole salt,
// so that the execution that a ModelTrained names can be made once more from that event alone.
func (j Join) trainSalt(p pipeline.Pipeline, retry Retry) string {
	if retry.Salt != "" {
		return retry.Salt
	}
	parts := j.forced()
	if !p.Trainer.Cache {
		last := j.Last()
		parts = append(parts, "cache off", j.Pipeline, j.Run, last.Source, last.ID)
	}
	return saltOf(parts)
}

// forced names the events that ask for the work to be done again.
func (j Join) forced() (parts []string) {
	for _, event := range j.Events {
		if event.Force {
			parts = append(parts, "force", event.Source, event.ID)
		}
	}
	return parts
}

func saltOf(parts []string) string {
	if len(parts) == 0 {
		return ""
	}
	return events.DerivedID(parts...)
}

// searchInputs returns the run's own inputs, its pipeline's window, and the pipeline's last
// hyperparameters if the search may reuse or learn from them.
func (j Join) searchInputs(latest Latest) events.Inputs {
	in := j.inputs()
	in.Hyperparameters = latest.Hyperparameters
	if len(latest.Spans) > 0 {
		*windowed(&in) = latest.Spans
	}
	return in
}

// trainInputs returns the run's own inputs, and "latest" or a fixed address where the pipeline's
// policies require it.
func (j Join) trainInputs(p pipeline.Pipeline, latest Latest) events.Inputs {
	in := j.inputs()
	switch {
	case p.Trainer.Hyperparameters == pipeline.HyperparametersNone:
		in.Hyperparameters = ""
	case in.Hyperparameters == "":
		in.Hyperparameters = latest.Hyperparameters
	}
	switch p.Trainer.BaseModel {
	case pipeline.BaseModelNone:
	case pipeline.BaseModelLatest, pipeline.BaseModelBlessed:
		in.BaseModel = latest.BaseModel
	default:
		in.BaseModel = p.Trainer.BaseModel
	}
	if len(latest.Spans) > 0 {
		*windowed(&in) = latest.Spans
	}
	return in
}

// inputs merges the inputs that the events named, in their order; a later event only fills what
// earlier ones left empty.
func (j Join) inputs() events.Inputs {
	var all events.Inputs
	for _, event := range j.Events {
		in := event.Inputs
		if len(all.Examples) == 0 {
			all.Examples = in.Examples
		}
		if len(all.TransformedExamples) == 0 {
			all.TransformedExamples = in.TransformedExamples
		}
		fill(&all.TransformGraph, in.TransformGraph)
		fill(&all.Schema, in.Schema)
		fill(&all.Statistics, in.Statistics)
		fill(&all.Hyperparameters, in.Hyperparameters)
	}
	return all
}

func fill(to *string, from string) {
	if *to == "" {
		*to = from
	}
}

// jobID returns the SHA-256 of everything that identifies the job, which is known before anything
// is read from a store. encoding/json writes struct fields in order and map keys sorted, so the
// bytes are canonical.
func jobID(job events.Job) (string, error) {
	identity, err := json.Marshal(struct {
		Pipeline   string          `json:"pipeline"`
		Revision   uint64          `json:"revision"`
		Run        string          `json:"run"`
		Function   events.Function `json:"function"`
		Causes     []events.Cause  `json:"causes"`
		Inputs     events.Inputs   `json:"inputs"`
		Generation int             `json:"generation"`
		Salt       string          `json:"salt,omitempty"`
	}{job.Pipeline, job.Revision, job.Run, job.Function, job.Causes, job.Inputs, job.Generation, job.Salt})
	if err != nil {
		return "", fmt.Errorf("job identity of run %s: %w", job.Run, err)
	}
	sum := sha256.Sum256(identity)
	return hex.EncodeToString(sum[:]), nil
}
