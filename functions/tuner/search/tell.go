package search

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/module"
)

// Tell is what is told of one trial, beside what all are told alike. Its folders are made anew.
func Tell(told module.Assignment, c tune.Config, trial *tune.Trial, dir string) (module.Assignment, error) {
	told.Call, told.BestHyperparametersDir, told.TunerResultsDir = module.CallTrial, "", ""
	told.WorkingDir = filepath.Join(dir, "working")
	told.ModelRunDir = filepath.Join(dir, "model_run")
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(told.WorkingDir, 0o755)); err != nil {
		return told, events.Fail(events.FailureUnavailable, fmt.Errorf("make a folder for trial %s: %w", trial.ID, err))
	}
	text, err := c.Space.Encode(trial.Values)
	if err == nil {
		told.Hyperparameters = map[string]any{}
		err = json.Unmarshal(text, &told.Hyperparameters)
	}
	if err != nil {
		return told, events.Fail(events.FailureModule, fmt.Errorf("trial %s: its values: %w", trial.ID, err))
	}
	told.TrainSteps = steps(told.TrainSteps, trial.Epochs, c.Algorithm.MaxEpochs)
	told.Trial = &module.Trial{
		ID: trial.ID, Parent: trial.Parent, From: trial.From, Epochs: trial.Epochs,
		Keep:     c.Algorithm.HasEpochs() && trial.Epochs < c.Algorithm.MaxEpochs,
		StopPath: filepath.Join(dir, "stop"),
	}
	return told, nil
}

// steps is up to which step a trial goes that ends after some of the epochs that the longest has: its share of num_steps, at least one.
func steps(all *int, epochs, longest int) *int {
	if all == nil || epochs == 0 || longest == 0 {
		return all
	}
	share := max(1, int(math.Round(float64(*all)*float64(epochs)/float64(longest))))
	return &share
}
