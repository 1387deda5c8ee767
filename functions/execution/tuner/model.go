package tuner

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/execution/tuner/search"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// The model of the best trial, where a pipeline asks for it, is published as a Trainer's model is.
const (
	modelKey      = "model"
	modelType     = "Model"
	servingFolder = "Format-Serving"
)

// outputsOf are TFX's keys of what a search publishes, with its types.
func outputsOf(search pipeline.Search) map[string]string {
	outputs := map[string]string{bestKey: "HyperParameters", resultsKey: "TunerResults"}
	if wantsModel(search) {
		outputs[modelKey] = modelType
	}
	return outputs
}

func wantsModel(search pipeline.Search) bool {
	return search.Study != nil && bool(search.Study.BestModel)
}

// models says whether trials leave models, of which the best one's is published.
func (s *seat) models() bool { return wantsModel(s.searching) }

func modelOf(trial *tune.Trial) string { return "model of " + partOf(trial) }

// keepModel keeps the model of a trial that none before it is better than: that of the best in the end is among them.
func (s *seat) keepModel(ctx context.Context, trial taken, told module.Assignment, ended *tune.Ended) error {
	if !s.models() || ended.Status != tune.Completed {
		return nil
	}
	dir := filepath.Dir(told.ServingModelDir)
	if empty(told.ServingModelDir) {
		*ended = search.Failed(ended.Trial, "the trial left no model, and the pipeline asks for that of the best")
		ended.Owner = s.me
		return nil
	}
	if study := s.Now(); !study.Rivals(*ended) {
		return nil
	}
	ended.Files = modelFiles
	return s.attempt.Part(modelOf(trial.Trial), dir).Keep(ctx, ended.Step)
}

// layModel lays out the model of the best trial where it is published from. One that is gone, as after a study that nobody asked for was
// collected, no trial to come would bring back: the rest is published without it, and note says so.
func layModel(ctx context.Context, a *execution.Attempt, best *tune.Trial) (note string, err error) {
	if !wantsModel(a.Execution.Spec.Search()) {
		return "", nil
	}
	found, err := a.Part(modelOf(best), "").Load(ctx, a.Desk.Out(modelKey))
	if found || err != nil {
		return "", err
	}
	a.Without(modelKey)
	a.Execution.Log.WarnContext(ctx, "the model of the best trial is gone from the store; the search is published without it", "trial", best.ID)
	return fmt.Sprintf("the model of trial %s, which is the best, is gone from the store", best.ID), nil
}
