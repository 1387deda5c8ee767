package trainer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/stoker-ml/stoker/compute/example"
	"github.com/stoker-ml/stoker/compute/warm"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// assign tells the module what to do, in the words of TFX's FnArgs.
func assign(a attempt) (module.Assignment, error) {
	job, e, d := a.Job, a.execution, a.desk
	trainer := e.spec.Trainer
	schema, err := schemaPath(job, d)
	if err != nil {
		return module.Assignment{}, inputFailure(err)
	}
	if err := checkSchema(schema); err != nil {
		return module.Assignment{}, inputFailure(err)
	}
	tuned, err := onlyFile(d.in("hyperparameters"))
	if err != nil {
		return module.Assignment{}, inputFailure(err)
	}
	values, err := hyperparameters(tuned)
	if err != nil {
		return module.Assignment{}, inputFailure(err)
	}
	counts, err := numExamples(d.in("statistics"))
	if err != nil {
		return module.Assignment{}, inputFailure(err)
	}
	base, err := servingPath(there(d.in("base_model")))
	if err != nil {
		return module.Assignment{}, inputFailure(err)
	}
	return module.Assignment{
		Version:            module.ProtocolVersion,
		Module:             e.spec.Module.Source(),
		Call:               module.CallTrain,
		WorkingDir:         d.working(),
		TrainFiles:         patterns(e, d, trainer.TrainArgs),
		EvalFiles:          patterns(e, d, trainer.EvalArgs),
		TrainSteps:         steps(trainer.TrainArgs),
		EvalSteps:          steps(trainer.EvalArgs),
		SchemaPath:         schema,
		TransformGraphPath: there(d.in("transform_graph")),
		ServingModelDir:    d.out("model", "Format-Serving"),
		EvalModelDir:       d.out("model", "Format-TFMA"),
		ModelRunDir:        d.out("model_run"),
		BaseModel:          base,
		Hyperparameters:    values,
		CustomConfig:       trainer.CustomConfig,
		Exports:            trainer.Exports,
		Predictions:        predictions(e, d),
		NumExamples:        counts,
		PayloadFormat:      payload(job),
		Transformed:        transformed(job),
		Seed:               trainer.Seed,
		Shards:             shards,
	}, nil
}

// patterns are one for each split and artifact, as TFX gives them.
func patterns(e execution, d desk, args pipeline.Args) []string {
	var all []string
	for _, split := range args.Splits {
		for _, in := range e.inputs {
			if in.split == split {
				all = append(all, filepath.Join(d.in(in.dir), cmp.Or(in.pattern, "*")))
			}
		}
	}
	return all
}

// steps makes None of zero, as TFX does.
func steps(args pipeline.Args) *int {
	if args.NumSteps == 0 {
		return nil
	}
	return &args.NumSteps
}

// schemaPath is the schema that the run brought, else the one inside the transform graph that fits its examples.
func schemaPath(job events.Job, d desk) (string, error) {
	if job.Inputs.Schema != "" {
		return onlyFile(d.in("schema"))
	}
	folder := "metadata"
	if transformed(job) {
		folder = "transformed_metadata"
	}
	return there(d.in("transform_graph", folder, "schema.pbtxt")), nil
}

// checkSchema refuses a schema that does not parse before any module is started, whether the module reads it or not.
func checkSchema(path string) error {
	if path == "" {
		return nil
	}
	_, err := example.ReadSchema(path)
	return err
}

// servingPath finds the SavedModel inside a Model artifact, as TFX does; "" for none.
func servingPath(model string) (string, error) {
	if model == "" {
		return "", nil
	}
	serving, err := warm.Serving(model)
	if err != nil {
		return "", fmt.Errorf("base_model: %w", err)
	}
	return serving, nil
}

// there is path if it exists, else "".
func there(path string) string {
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// onlyFile returns the one file of a staged artifact that TFX keeps alone in its folder: a schema, hyperparameters.
func onlyFile(dir string) (string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil // the job has no such input
	}
	if err == nil && len(files) != 1 {
		err = fmt.Errorf("expected one file, got %d", len(files))
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", filepath.Base(dir), err)
	}
	return files[0], nil
}

// hyperparameters parses best_hyperparameters.txt, which is JSON despite its name.
func hyperparameters(file string) (map[string]any, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("hyperparameters: %w", err)
	}
	var parsed map[string]any
	if err := json.Unmarshal(text, &parsed); err != nil {
		return nil, fmt.Errorf("hyperparameters %s: %w", filepath.Base(file), err)
	}
	return parsed, nil
}
