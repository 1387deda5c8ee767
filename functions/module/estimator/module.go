package estimator

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/functions/module"
)

// Main is the main function of a program that is an Estimator-style module. It does not return.
func Main(t Trainer) { module.Main(Module(t)) }

// Module makes a module of a Trainer.
func Module(t Trainer) module.Module {
	return module.Module{Train: func(ctx context.Context, args *module.Args) error { return Run(ctx, args, t, time.Now) }}
}

// Run trains, evaluates and exports as t says, as tf.estimator.train_and_evaluate and TFX's Trainer do it. The clock says when
// checkpoints by time and evaluations are due, and names exports. What the data are to blame for is a module.Error of kind input.
func Run(ctx context.Context, args *module.Args, t Trainer, now func() time.Time) error {
	r := runner{args: args, now: now, log: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	err := withWorkingDir(args.WorkingDir, func(dir string) error {
		r.working = dir
		return r.run(ctx, t)
	})
	if errors.Is(err, example.ErrInput) && ctx.Err() == nil {
		return module.BadInput(err)
	}
	return err
}

// withWorkingDir calls do with dir, or where there is none, as when a module is started by hand, with a folder that is gone
// afterwards.
func withWorkingDir(dir string, do func(dir string) error) (err error) {
	if dir == "" {
		if dir, err = os.MkdirTemp("", "estimator-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	return do(dir)
}

// readSchema is the schema of the raw examples: the one given, else the one that the transform graph was made with.
func readSchema(args *module.Args) (*example.Schema, error) {
	switch {
	case args.SchemaPath != "":
		return example.ReadSchema(args.SchemaPath)
	case args.TransformGraphPath != "":
		return example.ReadSchema(filepath.Join(args.TransformGraphPath, "metadata", "schema.pbtxt"))
	}
	return nil, errors.New("an Estimator-style module is handed the schema of the examples, and this training has none")
}
