package execution

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/modelcheck"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// Assignment returns what every module is assigned, in the terms of TFX's FnArgs: its data, and the
// directories that it may write to.
func (a *Attempt) Assignment(ctx context.Context, train, eval pipeline.Args) (module.Assignment, error) {
	w := a.Workspace
	schema, err := a.schemaPath()
	if err != nil {
		return module.Assignment{}, InputFailure(err)
	}
	counts, err := a.numExamples(ctx, There(w.In("statistics")))
	if err != nil {
		return module.Assignment{}, err
	}
	return module.Assignment{
		Version:            module.ProtocolVersion,
		Module:             a.Execution.Spec.Module.Source(),
		WorkingDir:         w.Working(),
		TrainFiles:         a.patterns(train),
		EvalFiles:          a.patterns(eval),
		TrainSteps:         steps(train),
		EvalSteps:          steps(eval),
		SchemaPath:         schema,
		TransformGraphPath: There(w.In("transform_graph")),
		NumExamples:        counts,
		PayloadFormat:      Payload(a.Job),
		Transformed:        Transformed(a.Job),
	}, nil
}

// patterns returns one file pattern for each split and artifact, as TFX does.
func (a *Attempt) patterns(args pipeline.Args) []string {
	var all []string
	for _, split := range args.Splits {
		for _, in := range a.Execution.Inputs {
			if in.Split == split {
				all = append(all, filepath.Join(a.Workspace.In(in.Dir), cmp.Or(in.pattern, "*")))
			}
		}
	}
	return all
}

// steps returns nil for zero, which TFX calls None.
func steps(args pipeline.Args) *int {
	if args.NumSteps == 0 {
		return nil
	}
	return &args.NumSteps
}

// schemaPath returns the path of the run's own schema, else that of the schema inside the transform
// graph that fits the run's examples.
func (a *Attempt) schemaPath() (string, error) {
	if a.Job.Inputs.Schema != "" {
		return OnlyFile(a.Workspace.In("schema"))
	}
	folder := "metadata"
	if Transformed(a.Job) {
		folder = "transformed_metadata"
	}
	return There(a.Workspace.In("transform_graph", folder, "schema.pbtxt")), nil
}

// There returns path if it exists, else "".
func There(path string) string {
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// OnlyFile returns the one file of a staged artifact that TFX keeps alone in its folder: a schema,
// hyperparameters. "" where the job has no such input. Files whose names begin with _ or . do not
// count: Hadoop's tools, and bridges' markers, leave them next to data.
func OnlyFile(dir string) (string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && !strings.HasPrefix(entry.Name(), "_") && !strings.HasPrefix(entry.Name(), ".") {
			files = append(files, path)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err == nil && len(files) != 1 {
		err = fmt.Errorf("expected one file, got %d", len(files))
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", filepath.Base(dir), err)
	}
	return files[0], nil
}

// numExamples returns how many records each split has according to the staged ExampleStatistics
// artifact; nil if there is none (""). A child process reads the artifact, within the limits of the
// job.
func (a *Attempt) numExamples(ctx context.Context, statistics string) (map[string]int64, error) {
	if statistics == "" {
		return nil, nil
	}
	answer, err := a.CheckFiles(ctx, modelcheck.Question{Statistics: statistics}, a.Execution.Resources)
	if failure, ok := errors.AsType[*events.Failure](err); ok && failure.Kind == events.FailureCheck {
		return nil, InputFailure(failure.Err)
	}
	if err == nil && answer.Refused != "" {
		err = InputFailure(errors.New(answer.Refused))
	}
	return answer.NumExamples, err
}
