package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/storage"
)

// pulled is what `models pull` reports.
type pulled struct {
	Model string `json:"model"`
	Path  string `json:"path"`
	Run   string `json:"model_run,omitempty"` // where it was copied to
}

func newModelsPull(app *app) *cobra.Command {
	var run, to string
	var serving, modelRun bool
	cmd := &cobra.Command{
		Use:   "pull PIPELINE",
		Short: "Copy a model to a local folder, checked against its manifest",
		Long: "Copies the newest model of a pipeline, or that of --run, to a local folder. With --serving the folder gets the model\n" +
			"in a numbered version folder (the second in which it was trained), as TensorFlow Serving wants it; a version that is there\n" +
			"already is left alone. --model-run brings beside it what the training left: event files for TensorBoard, metrics, and what was\n" +
			"taken from a base model.",
		Args:              exactly(1, "a pipeline"),
		ValidArgsFunction: app.pipelineNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			return app.withLink(cmd.Context(), func(ctx context.Context, l link) error {
				model, err := newest(ctx, l.box, args[0], run)
				if err != nil {
					return err
				}
				got, err := pull(ctx, l.store, model, to, serving)
				if errors.Is(err, storage.ErrNotFound) || errors.Is(err, storage.ErrIncomplete) {
					again := app.command("replay --run " + quoted(model.Run) + " --pipeline " + model.Pipeline)
					return exit.NotFound(fmt.Errorf("the model of run %s is gone: `%s` trains it again: %w", model.Run, again, err))
				}
				if err == nil && modelRun {
					got.Run, err = pullRun(ctx, l.store, model, to)
				}
				if err != nil {
					return err
				}
				if modelRun && got.Run == "" {
					fmt.Fprintf(app.notes(), "the model is copied; the store has nothing of its model_run: the training of run %s left none, or it was removed\n", model.Run)
				}
				return app.print(got, func(w io.Writer) {
					fmt.Fprintln(w, got.Path)
					if got.Run != "" {
						fmt.Fprintln(w, got.Run)
					}
				})
			})
		},
	}
	cmd.Flags().StringVar(&run, "run", "", "the model of this run, not the newest")
	cmd.Flags().StringVar(&to, "to", ".", "folder to write to")
	cmd.Flags().BoolVar(&serving, "serving", false, "write <to>/<version>/saved_model.pb for TensorFlow Serving")
	cmd.Flags().BoolVar(&modelRun, "model-run", false, "copy its model_run too, to <to>/model_run")
	return cmd
}

// pull copies a model, or of it what TensorFlow Serving takes.
func pull(ctx context.Context, store storage.Store, model modelLine, to string, serving bool) (got pulled, err error) {
	got.Model = model.Model
	if serving {
		got.Path = filepath.Join(to, strconv.FormatInt(model.Finished.Unix(), 10))
		err = pullArtifact(ctx, store, model.Model, "Format-Serving", got.Path)
	} else {
		got.Path = filepath.Join(to, "model")
		err = pullArtifact(ctx, store, model.Model, "", got.Path)
	}
	return got, err
}

// pullRun copies a model's model_run, and returns where it is: "" where the store has none.
func pullRun(ctx context.Context, store storage.Store, model modelLine, to string) (string, error) {
	if model.ModelRun == "" {
		return "", nil
	}
	path := filepath.Join(to, "model_run")
	err := pullArtifact(ctx, store, model.ModelRun, "", path)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("the model is copied, its model_run is not: %w", err)
	}
	return path, nil
}

// pullArtifact stages the artifact, or the folder source of it, beside its destination and moves it there in one step, so that a
// server that watches the folder never sees half a model. A destination that is there is left alone.
func pullArtifact(ctx context.Context, store storage.Store, artifact, source, destination string) error {
	ref, err := storage.ParseRef(artifact)
	if err != nil {
		return err
	}
	if _, err := os.Stat(destination); err == nil {
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	to := filepath.Dir(destination)
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	half, err := os.MkdirTemp(to, ".pull-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(half)
	if _, err := storage.StageIn(ctx, store, ref, half, storage.StageOptions{}); err != nil {
		return err
	}
	from := filepath.Join(half, source)
	if err := os.Chmod(from, 0o755); err != nil {
		return err
	}
	return os.Rename(from, destination)
}
