package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// Wants says which "latest" a complete join still has to have looked up.
type Wants struct {
	Hyperparameters bool // the newest HParamsReady of the pipeline before the join completed
	BaseModel       bool // the newest ModelTrained, likewise
}

// Wants reads the policies of the pipeline against what the run brought itself.
func (j Join) Wants(p pipeline.Pipeline) Wants {
	own := j.inputs().Hyperparameters != ""
	policy := p.Trainer.Hyperparameters
	return Wants{
		Hyperparameters: !own && (policy == pipeline.HyperparametersLatest || policy == pipeline.HyperparametersAuto),
		BaseModel:       p.Trainer.BaseModel == pipeline.BaseModelLatest,
	}
}

// Pin completes the join: from here on its job is fixed.
func (j Join) Pin(revision uint64, latest Latest) Join {
	j.State, j.Revision, j.Latest = Complete, revision, latest
	return j
}

// Train makes the training job of a complete join. p is the pipeline at the join's revision.
func (j Join) Train(p pipeline.Pipeline) (events.Job, error) {
	if j.State == Waiting {
		return events.Job{}, fmt.Errorf("run %s of %s is still waiting for %v", j.Run, j.Pipeline, j.Missing(p))
	}
	spec, err := p.JSON()
	if err != nil {
		return events.Job{}, fmt.Errorf("pipeline %s: %w", p.Name, err)
	}
	last := j.Facts[len(j.Facts)-1]
	job := events.Job{
		Function: events.FunctionTrain,
		Class:    p.Trainer.Resources.Class,
		Pipeline: j.Pipeline,
		Revision: j.Revision,
		Spec:     spec,
		Run:      j.Run,
		Inputs:   j.pinnedInputs(p),
		Created:  last.Stored,
		Trace:    last.Trace,
	}
	for _, fact := range j.Facts {
		job.Causes = append(job.Causes, fact.Cause)
	}
	job.ID, err = jobID(job)
	return job, err
}

// pinnedInputs are what the run brought, and "latest" or a fixed address where the pipeline's policies say so.
func (j Join) pinnedInputs(p pipeline.Pipeline) events.Inputs {
	in := j.inputs()
	switch {
	case p.Trainer.Hyperparameters == pipeline.HyperparametersNone:
		in.Hyperparameters = ""
	case in.Hyperparameters == "":
		in.Hyperparameters = j.Latest.Hyperparameters
	}
	switch p.Trainer.BaseModel {
	case pipeline.BaseModelNone:
	case pipeline.BaseModelLatest:
		in.BaseModel = j.Latest.BaseModel
	default:
		in.BaseModel = p.Trainer.BaseModel
	}
	return in
}

// inputs merges what the facts named, in their order; a later fact fills only what earlier ones left empty.
func (j Join) inputs() events.Inputs {
	var all events.Inputs
	for _, fact := range j.Facts {
		in := fact.Inputs
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

// jobID is the SHA-256 of what makes the job this one, known before anything is read from a store. encoding/json
// writes struct fields in order and map keys sorted, so the bytes are canonical.
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

// waitFor turns the pipeline's words into kinds of facts.
func waitFor(p pipeline.Pipeline) []events.Kind {
	kinds := make([]events.Kind, 0, len(p.Trainer.WaitFor))
	for _, word := range p.Trainer.WaitFor {
		kinds = append(kinds, events.Kind(word+".ready"))
	}
	return kinds
}
