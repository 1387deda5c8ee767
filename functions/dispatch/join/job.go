package join

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// Again says how a job that is made once more differs from the first. The zero value is no difference: the same job.
type Again struct {
	Generation int    `json:"generation,omitempty"` // the least that its model may have
	Salt       string `json:"salt,omitempty"`       // makes another execution
	Request    string `json:"request,omitempty"`    // who asked for it
}

// Train makes the training job of a join that is, or was, complete. p is the pipeline at the join's revision.
func (j Join) Train(p pipeline.Pipeline, again Again) (events.Job, error) {
	if j.Revision == 0 || len(j.Facts) == 0 {
		return events.Job{}, fmt.Errorf("run %s of %s is %s: it never had all that it waits for", j.Run, j.Pipeline, j.State)
	}
	return j.make(p, again, events.Job{
		Function: events.FunctionTrain, Class: p.Trainer.Resources.Class, Inputs: j.pinnedInputs(p), Salt: j.salt(p, again),
	})
}

// make fills in what every job says of its run.
func (j Join) make(p pipeline.Pipeline, again Again, job events.Job) (events.Job, error) {
	spec, err := p.JSON()
	if err != nil {
		return events.Job{}, fmt.Errorf("pipeline %s: %w", p.Name, err)
	}
	last := j.Last()
	job.Pipeline, job.Run, job.Revision, job.Spec = j.Pipeline, j.Run, j.Revision, spec
	job.Generation, job.Request = again.Generation, again.Request
	job.Created, job.Trace, job.TraceState = last.Stored, last.Trace, last.TraceState
	for _, fact := range j.Facts {
		job.Causes = append(job.Causes, fact.Cause)
	}
	job.ID, err = jobID(job)
	return job, err
}

// salt is "" where a model that was trained before will do. Else it is made of what asks for a new one: facts with force, a
// pipeline without cache. A request to do the run again brings the whole salt, so that the execution that a ModelTrained tells of can
// be made once more from that fact alone.
func (j Join) salt(p pipeline.Pipeline, again Again) string {
	if again.Salt != "" {
		return again.Salt
	}
	parts := j.forced()
	if !p.Trainer.Cache {
		last := j.Last()
		parts = append(parts, "cache off", j.Pipeline, j.Run, last.Source, last.ID)
	}
	return saltOf(parts)
}

// forced names the facts that ask for the work to be done anew.
func (j Join) forced() (parts []string) {
	for _, fact := range j.Facts {
		if fact.Force {
			parts = append(parts, "force", fact.Source, fact.ID)
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
	case pipeline.BaseModelLatest, pipeline.BaseModelBlessed:
		in.BaseModel = j.Latest.BaseModel
	default:
		in.BaseModel = p.Trainer.BaseModel
	}
	if len(j.Latest.Spans) > 0 {
		*windowed(&in) = j.Latest.Spans
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
