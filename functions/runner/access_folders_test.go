package runner

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/functions/module"
)

func TestWhatAModuleWritesToHoldsNothingOfTheWorkers(t *testing.T) {
	t.Parallel()
	const w = "/workspace"
	train := module.Assignment{
		WorkingDir: w + "/working", ModelRunDir: w + "/out/model_run", ServingModelDir: w + "/out/model/Format-Serving",
		EvalModelDir: w + "/out/model/Format-TFMA",
		Predictions:  &module.Predictions{Path: w + "/answers/predictions.jsonl", LabelsPath: w + "/answers/labels.json"},
	}
	tune := module.Assignment{
		WorkingDir: w + "/working", BestHyperparametersDir: w + "/out/best_hyperparameters", TunerResultsDir: w + "/out/tuner_results",
	}
	for name, told := range map[string]module.Assignment{"train": train, "tune": tune} {
		for _, path := range []string{w, w + "/in", w + "/out", w + "/log.txt", w + "/checkpoints-1"} {
			if slices.ContainsFunc(ownFolders(told), func(folder string) bool {
				rel, err := filepath.Rel(folder, path)
				return err == nil && filepath.IsLocal(rel)
			}) {
				t.Errorf("%s: the module may write to %s: %q", name, path, ownFolders(told))
			}
		}
	}
}
