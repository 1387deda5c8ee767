package trainer

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
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
	Skew            *events.Skew       `json:"skew,omitempty"`
	Started         time.Time          `json:"started"`
	Finished        time.Time          `json:"finished"`
	Attempts        int                `json:"attempts"`
	Resumed         int                `json:"resumed,omitempty"` // step of the checkpoint that the last attempt went on from
}

// tell is what there is to tell of an attempt that finished at a time.
func tell(a attempt, finished time.Time) story {
	values, _ := a.assignment.Hyperparameters["values"].(map[string]any)
	return story{
		Job: a.Job.ID, Module: a.execution.module, Inputs: artifacts(a.execution.inputs), Metrics: a.outcome.Metrics,
		Hyperparameters: values, BaseModel: a.execution.baseModel(), Skew: a.skew,
		Started: a.started, Finished: finished, Attempts: a.Attempt.Number, Resumed: a.resumed,
	}
}

// trained is the fact of a job whose execution is committed. It is cached if another job did the work.
func trained(job events.Job, r result) events.Fact {
	model := r.manifest.Outputs["model"]
	data := &events.ModelTrained{
		Model:           events.Model{URI: model.URI, Digest: model.Digest, Formats: formats(model)},
		ModelRun:        r.manifest.Outputs["model_run"].URI,
		EvalModel:       evalModel(model),
		Execution:       r.manifest.Execution,
		Generation:      r.commit.Generation,
		Cached:          r.story.Job != job.ID,
		Metrics:         r.story.Metrics,
		Inputs:          r.story.Inputs,
		Hyperparameters: r.story.Hyperparameters,
		Module:          r.story.Module,
		BaseModel:       r.story.BaseModel,
		Skew:            r.story.Skew,
		Started:         r.story.Started,
		Finished:        r.story.Finished,
		Attempts:        r.story.Attempts,
	}
	return events.NewModelTrained(job, data)
}

// formatName is Format-Serving, Format-TFMA and the like.
var formatName = regexp.MustCompile(`^Format-[A-Za-z0-9]+$`)

// formats are the folders at the top of a Model artifact that are named as TFX names formats; others are the module's own.
func formats(model storage.Output) []string {
	found := map[string]bool{}
	for _, file := range model.Files {
		if format, _, ok := strings.Cut(path.Clean(file.Path), "/"); ok && formatName.MatchString(format) {
			found[format] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// evalModel is where the model for model analysis is, "" if the module left none.
func evalModel(model storage.Output) string {
	const format = "Format-TFMA"
	if !slices.Contains(formats(model), format) {
		return ""
	}
	return model.URI + "/" + format
}
