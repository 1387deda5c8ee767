package trainer

import (
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/guest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/worker"
	"github.com/stoker-ml/stoker/storage"
)

// story is what there is to tell of an execution besides its artifacts. It is kept in the manifest, so that a cache hit
// tells the same.
type story struct {
	Job             string             `json:"job"` // that did the work
	Module          string             `json:"module"`
	Inputs          []events.Artifact  `json:"inputs"`
	Metrics         map[string]float64 `json:"metrics,omitempty"`
	Hyperparameters map[string]any     `json:"hyperparameters,omitempty"` // values only
	BaseModel       string             `json:"base_model,omitempty"`
	Started         time.Time          `json:"started"`
	Finished        time.Time          `json:"finished"`
	Attempts        int                `json:"attempts"`
}

func summary(task worker.Task, e execution, a module.Assignment, outcome guest.Outcome, started, finished time.Time) story {
	values, _ := a.Hyperparameters["values"].(map[string]any)
	return story{
		Job: task.Job.ID, Module: e.module, Inputs: artifacts(e.inputs), Metrics: outcome.Metrics, Hyperparameters: values,
		BaseModel: task.Job.Inputs.BaseModel, Started: started, Finished: finished, Attempts: task.Attempt.Number,
	}
}

// trained is the fact of a job whose execution is committed. It is cached if another job did the work.
func trained(job events.Job, r result) events.Fact {
	model := r.manifest.Outputs["model"]
	data := &events.ModelTrained{
		Model:           events.Model{URI: model.URI, Digest: model.Digest, Formats: formats(model)},
		ModelRun:        r.manifest.Outputs["model_run"].URI,
		Execution:       r.manifest.Execution,
		Generation:      job.Generation,
		Cached:          r.story.Job != job.ID,
		Metrics:         r.story.Metrics,
		Inputs:          r.story.Inputs,
		Hyperparameters: r.story.Hyperparameters,
		Module:          r.story.Module,
		BaseModel:       r.story.BaseModel,
		Started:         r.story.Started,
		Finished:        r.story.Finished,
		Attempts:        r.story.Attempts,
	}
	return events.NewModelTrained(job, data)
}

// formats are the folders at the top of a Model artifact.
func formats(model storage.Output) []string {
	found := map[string]bool{}
	for _, file := range model.Files {
		if format, _, ok := strings.Cut(path.Clean(file.Path), "/"); ok && strings.HasPrefix(format, "Format-") {
			found[format] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// Failed tells of a job that is given up.
func (t *Trainer) Failed(task worker.Task, failure *events.Failure) (events.Fact, bool) {
	return events.NewJobFailed(task.Job, task.Attempt, failure), true
}

func specOf(job events.Job) (pipeline.Pipeline, error) { return pipeline.FromJSON(job.Spec) }
