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

// Assign returns the assignment of one trial, made from the part that all trials share. It makes
// the trial's directories anew.
func Assign(base module.Assignment, c tune.Config, trial *tune.Trial, dir string) (module.Assignment, error) {
	assignment := base
	assignment.Call, assignment.BestHyperparametersDir, assignment.TunerResultsDir = module.CallTrial, "", ""
	assignment.WorkingDir = filepath.Join(dir, "working")
	assignment.ModelRunDir = filepath.Join(dir, "model_run")
	if err := Renew(assignment.WorkingDir, dir); err != nil {
		return assignment, events.Fail(events.FailureUnavailable, fmt.Errorf("make a folder for trial %s: %w", trial.ID, err))
	}
	text, err := c.Space.Encode(trial.Values)
	if err == nil {
		assignment.Hyperparameters = map[string]any{}
		err = json.Unmarshal(text, &assignment.Hyperparameters)
	}
	if err != nil {
		return assignment, events.Fail(events.FailureModule, fmt.Errorf("trial %s: its values: %w", trial.ID, err))
	}
	if v := c.Validation; v.Folds > 0 {
		// Each fold has all steps.
		assignment.Validation = &module.Validation{Folds: v.Folds, Order: v.Order, Seed: c.Seed}
	} else {
		assignment.TrainSteps = steps(assignment.TrainSteps, trial.Epochs, c.Algorithm.MaxEpochs)
	}
	assignment.Trial = &module.Trial{
		ID: trial.ID, Parent: trial.Parent, From: trial.From, Epochs: trial.Epochs,
		Keep:     c.Algorithm.HasEpochs() && trial.Epochs < c.Algorithm.MaxEpochs,
		StopPath: filepath.Join(dir, "stop"),
	}
	return assignment, nil
}

// Renew makes the empty directory that a trial works in, <trials>/<trial>/<folder>, after it has
// removed gone: that directory or the trial's whole. The process of another trial may write there
// too, but can't make Renew create or remove anything outside of the directory of the trials.
func Renew(working, gone string) error {
	trials := filepath.Dir(filepath.Dir(working))
	if err := os.MkdirAll(trials, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(trials)
	if err != nil {
		return err
	}
	defer root.Close()
	made, err := filepath.Rel(trials, working)
	if err != nil {
		return err
	}
	removed, err := filepath.Rel(trials, gone)
	if err != nil {
		return err
	}
	return errors.Join(root.RemoveAll(removed), root.MkdirAll(made, 0o755))
}

// steps returns the step at which a trial ends that has fewer epochs than the longest: its share of
// num_steps, at least one.
func steps(all *int, epochs, longest int) *int {
	if all == nil || epochs == 0 || longest == 0 {
		return all
	}
	share := max(1, int(math.Round(float64(*all)*float64(epochs)/float64(longest))))
	return &share
}
