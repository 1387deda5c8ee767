package trainer

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/mask"
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
	Settings        json.RawMessage    `json:"settings,omitempty"` // that the training used, as its module says, without secrets
	Skew            *events.Skew       `json:"skew,omitempty"`
	Notes           []string           `json:"notes,omitempty"`
	Started         time.Time          `json:"started"`
	Finished        time.Time          `json:"finished"`
	Attempts        int                `json:"attempts"`
	Resumed         int                `json:"resumed,omitempty"` // step of the checkpoint that the last attempt went on from
}

// tell is what there is to tell of an attempt that finished at a time.
func tell(a attempt, finished time.Time) story {
	values, _ := a.assignment.Hyperparameters["values"].(map[string]any)
	return story{
		Job: a.Job.ID, Module: a.Execution.Module, Inputs: execution.Artifacts(a.Execution.Inputs), Metrics: a.outcome.Metrics,
		Hyperparameters: values, BaseModel: baseModel(a.Execution), Settings: settings(a), Skew: a.skew, Notes: a.notes,
		Started: a.Started, Finished: finished, Attempts: a.Task.Attempt.Number, Resumed: a.Resumed,
	}
}

// settings are what the module says that it trained with; nil if it doesn't.
func settings(a attempt) json.RawMessage {
	if len(a.outcome.Settings) == 0 {
		return nil
	}
	return mask.JSON(a.outcome.Settings)
}

// baseModel is where the model lies that the training starts from, "" for none.
func baseModel(e execution.Execution) string {
	for _, in := range e.Inputs {
		if in.Key == execution.BaseModel {
			return in.Listing.Ref.String()
		}
	}
	return ""
}

// Tell makes the fact of a job whose execution is committed. It is cached if another job did the work.
func (t *Trainer) Tell(job events.Job, r execution.Result) (events.Fact, error) {
	var told story
	if err := json.Unmarshal(r.Manifest.Result, &told); err != nil {
		return events.Fact{}, fmt.Errorf("result: %w", err)
	}
	model := r.Manifest.Outputs[modelKey]
	data := &events.ModelTrained{
		Model:           events.Model{URI: model.URI, Digest: model.Digest, Formats: formats(model)},
		ModelRun:        r.Manifest.Outputs[modelRunKey].URI,
		EvalModel:       evalModel(model),
		Execution:       r.Manifest.Execution,
		Generation:      r.Commit.Generation,
		Cached:          told.Job != job.ID,
		Metrics:         told.Metrics,
		Inputs:          told.Inputs,
		Hyperparameters: told.Hyperparameters,
		Module:          told.Module,
		BaseModel:       told.BaseModel,
		Settings:        told.Settings,
		Skew:            told.Skew,
		Notes:           told.Notes,
		Started:         told.Started,
		Finished:        told.Finished,
		Attempts:        told.Attempts,
	}
	return events.NewModelTrained(job, data), nil
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
