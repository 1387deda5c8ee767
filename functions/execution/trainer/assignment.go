package trainer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/stoker-ml/stoker/compute/tf/warmstart"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// Assign returns the module's assignment, in the terms of TFX's FnArgs.
func (t *Trainer) Assign(ctx context.Context, a *execution.Attempt) (module.Assignment, error) {
	return assign(ctx, a)
}

func assign(ctx context.Context, a *execution.Attempt) (module.Assignment, error) {
	trainer, w := a.Execution.Spec.Trainer, a.Workspace
	assigned, err := a.Assignment(ctx, trainer.TrainArgs, trainer.EvalArgs)
	if err != nil {
		return module.Assignment{}, err
	}
	if assigned.Hyperparameters, err = hyperparameters(w.In(execution.Hyperparameters)); err != nil {
		return module.Assignment{}, execution.InputFailure(err)
	}
	if assigned.BaseModel, err = servingPath(execution.There(w.In(execution.BaseModel))); err != nil {
		return module.Assignment{}, execution.InputFailure(err)
	}
	assigned.Call = module.CallTrain
	assigned.ServingModelDir = w.Out(modelKey, "Format-Serving")
	assigned.EvalModelDir = w.Out(modelKey, "Format-TFMA")
	assigned.ModelRunDir = w.Out(modelRunKey)
	assigned.CustomConfig = trainer.CustomConfig
	assigned.Exports = pipeline.Formats(trainer.Exports)
	assigned.Workers, assigned.Strategy = trainer.Resources.Workers, trainer.Resources.Strategy
	assigned.Predictions = predictions(a)
	assigned.Seed, assigned.Deterministic = trainer.Seed, bool(trainer.Deterministic)
	assigned.Shards = shards
	return assigned, nil
}

// servingPath finds the SavedModel inside a Model artifact, as TFX does; "" if there is none.
func servingPath(model string) (string, error) {
	if model == "" {
		return "", nil
	}
	serving, err := warmstart.Serving(model)
	if err != nil {
		return "", fmt.Errorf("base_model: %w", err)
	}
	return serving, nil
}

// hyperparameters parses best_hyperparameters.txt, which is JSON despite its name; nil if the job
// has none.
func hyperparameters(dir string) (map[string]any, error) {
	file, err := execution.OnlyFile(dir)
	if file == "" {
		return nil, err
	}
	text, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("hyperparameters: %w", err)
	}
	defer text.Close()
	parsed, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("hyperparameters %s: %w", filepath.Base(file), err)
	}
	return parsed, nil
}

// maxHyperparameters is far more bytes than the hyperparameters of any search. Once parsed, they
// may take fifty times as many.
const maxHyperparameters = 1 << 20

// parse keeps numbers as they are written: in Python, 1.0 and 1 are different values.
func parse(from io.Reader) (object map[string]any, err error) {
	text, err := io.ReadAll(io.LimitReader(from, maxHyperparameters+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxHyperparameters {
		return nil, fmt.Errorf("longer than %d bytes", maxHyperparameters)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&object); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("unexpected data after the JSON object")
	}
	return object, nil
}
